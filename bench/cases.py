"""What is measured: models with their settings, graphs, and the variants of PyTorch they meet."""

from dataclasses import dataclass, field, replace

GRAPHS = {
    "texas": {"data.name": "texas", "data.graph": "given"},
    "cora": {"data.name": "cora"},
    "citeseer": {"data.name": "citeseer"},
    "pubmed": {"data.name": "pubmed"},
    "physics": {"data.name": "coauthor-physics"},
    # The size of ogbn-arxiv: 169,343 nodes, about 1,166,243 edges, 128 dense features, 40 classes.
    "arxiv-size": {
        "data.name": "csbm",
        "data.nodes": 169_343,
        "data.average_degree": 13.774,
        "data.features": 128,
        "data.classes": 40,
        "data.train_per_class": 1000,
        "data.validation": 29_799,
    },
}

# Nothing is dropped, so that both sides compute the same losses.
COMMON = {
    "train.method": "direct",
    "train.epochs": 1_000_000,
    "train.patience": 0,
    "train.halve_at": "[]",
    "train.hidden_weight_decay": "same",
    "train.output_weight_decay": "same",
    "train.weight_decay_kind": "l2",
    "model.input_dropout": 0.0,
    "model.hidden_dropout": 0.0,
}
OURS = COMMON | {
    "model.name": "r-soft-graph-ain",
    "model.layers": 32,
    "model.backbone": "gcn",
    "model.strength": 0.01,
    "model.exponent": 1.0,
    "model.rank": 1.0,
    "model.rank_rounding": "ceiling",
    "model.aggregated": 0.9,
    "model.residual": 0.2,
    "model.initial": 0.5,
    "model.residual_memory": 0.4,
    "model.initial_decay": 0.3,
    "model.centering": "aggregated",
    "model.head": "linear",
    "model.output_dropout": 0.0,
    "train.learning_rate": 0.01,
    "train.weight_decay": 1e-4,
}
GCNII = COMMON | {
    "model.name": "gcnii",
    "model.layers": 64,
    "model.hidden": 64,
    "model.star": "false",
    "train.learning_rate": 0.01,
    "train.weight_decay": 5e-4,
}
GCN = COMMON | {
    "model.name": "gcn",
    "model.layers": 2,
    "model.hidden": 16,
    "train.learning_rate": 0.01,
    "train.weight_decay": 5e-4,
}
GAT = COMMON | {
    "model.name": "gat",
    "model.layers": 2,
    "model.hidden": 64,
    "model.heads": 8,
    "model.output_heads": 1,
    "model.attention_dropout": 0.0,
    "train.learning_rate": 0.005,
    "train.weight_decay": 5e-4,
}
WIDTHS = {"citeseer": 256, "physics": 128, "arxiv-size": 128}
# Where keeping all layers takes more than half of PyTorch's memory, how many of them take less.
SAVING = {("full", "physics"): "checkpoint:26", ("detached", "arxiv-size"): "checkpoint:16"}


@dataclass(frozen=True)
class Case:
    name: str
    graph: str
    settings: dict = field(repr=False)
    variants: tuple[str, ...] = ("compiled", "shared", "eager", "csr")
    same_losses: bool = True  # whether both sides compute the same thing, and are checked
    memory: str = "auto"  # how our side uses memory, as `abyssal train --memory` has it

    @property
    def one_at_a_time(self) -> bool:
        """Whether the sides take turns as processes, not as epochs: together they would not fit into memory."""
        return self.graph == "arxiv-size"

    def arguments(self) -> list[str]:
        return [f"{key}={value}" for key, value in (GRAPHS[self.graph] | self.settings).items()]


def all_cases() -> list[Case]:
    cases = []
    for graph in GRAPHS:
        width = {"model.hidden": WIDTHS.get(graph, 64)}
        for gradient in ("detached", "full"):
            cases.append(Case(f"ours-{gradient}", graph, OURS | width | {"model.gradient": gradient}))
            if memory := SAVING.get((gradient, graph)):
                cases.append(replace(cases[-1], name=f"ours-{gradient}-saving", memory=memory))
        cases += [Case("gcnii", graph, GCNII), Case("gcn", graph, GCN), Case("gat", graph, GAT, ("compiled", "shared", "eager"))]
    for graph in ("cora", "pubmed"):
        # As the examples of PyTorch Geometric have it, dropout included.
        dropped = {f"model.{place}_dropout": 0.5 for place in ("input", "hidden")}
        cases.append(Case("gcn-dropout", graph, GCN | dropped, ("geometric",), same_losses=False))
        dropped = {f"model.{place}_dropout": 0.6 for place in ("input", "hidden", "attention")}
        heads = {"model.output_heads": 8 if graph == "pubmed" else 1}
        cases.append(Case("gat-dropout", graph, GAT | dropped | heads, ("geometric",), same_losses=False))
    return cases
