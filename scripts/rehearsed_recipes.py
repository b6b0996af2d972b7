"""The recipes that `rehearse.py` compares: who teaches, and what the student does.

Every recipe names all settings in which recipes differ, so that none depends on which of them is the default. The others are
those of `preset = "abyssal"`.
"""


def teachers(*models: str, seeds: int) -> list[str]:
    """An ensemble of so many of each model, which see the given edges."""
    names = ", ".join(f'"{model}"' for model in models)
    settings = [f"teacher.models=[{names}]", "teacher.choice=ensemble", f"teacher.seeds={seeds}"]
    return settings + [f"teacher.{model}.graph=given" for model in models]


def panel(*models: str) -> list[str]:
    """The best of these models on validation nodes, and a student along the given edges: what a graph of one's own gets."""
    names = ", ".join(f'"{model}"' for model in models)
    return [f"teacher.models=[{names}]", "teacher.choice=best", "teacher.seeds=1"] + student(1, graph="given")


def student(neighbours: int, **changed: str) -> list[str]:
    """A student that propagates to so many nearest neighbours, unless something else is said."""
    settings = {"data.graph": f"knn:{neighbours}", "curriculum.steps": "5", "curriculum.fine_tuning_epochs": "50"}
    keys = {"graph": "data.graph", "steps": "curriculum.steps", "fine_tuning": "curriculum.fine_tuning_epochs"}
    settings |= {keys[name]: value for name, value in changed.items()}
    return [f"{key}={value}" for key, value in settings.items()]


def fsgnn(layers: int, width: int, rate: str, share_decay: str, output_decay: str) -> list[str]:
    """The settings of FSGNN as a teacher; the last two are the weight decay of its shares and of its classifier."""
    return [
        f"teacher.fsgnn.model.layers={layers}",
        f"teacher.fsgnn.model.hidden={width}",
        f"teacher.fsgnn.train.learning_rate={rate}",
        f"teacher.fsgnn.train.hidden_weight_decay={share_decay}",
        f"teacher.fsgnn.train.output_weight_decay={output_decay}",
    ]


def recipes(neighbours: int, published: list[str], gprgnn: list[str]) -> dict[str, list[str]]:
    """Students of different teachers: FSGNN as published and with settings of its own, GPR-GNN with these."""
    different = {
        "gprgnn-10": teachers("gprgnn", seeds=10) + gprgnn,
        "fsgnn-10": FSGNN + published,
        "fsgnn-wide-10": FSGNN + WIDE,
        "fsgnn-gprgnn-5": MIXED + published + gprgnn,
        "fsgnn-wide-gprgnn-5": MIXED + WIDE + gprgnn,
    }
    panels = {
        "panel-without-fsgnn": panel("mlp", "gcn", "gcnii", "appnp", "gprgnn", "self"),
        "panel": panel("mlp", "gcn", "gcnii", "appnp", "gprgnn", "fsgnn", "self") + published,
    }
    return {name: settings + student(neighbours) for name, settings in different.items()} | panels


FSGNN = teachers("fsgnn", seeds=10)
MIXED = teachers("fsgnn", "gprgnn", seeds=5)
# What was published for FSGNN, by dataset.
TEXAS = fsgnn(3, 64, "0.01", share_decay="0.001", output_decay="0.0")
WISCONSIN = fsgnn(3, 64, "0.01", share_decay="0.0001", output_decay="0.0001")
CORNELL = fsgnn(3, 64, "0.01", share_decay="0.0", output_decay="0.001")
# Settings that did well in rehearsals of FSGNN alone.
WIDE = fsgnn(2, 128, "0.02", share_decay="0.001", output_decay="0.001")
# GPR-GNN with settings that were found among some dozens of random ones on Wisconsin.
GPRGNN_OF_WISCONSIN = [
    "teacher.gprgnn.model.layers=2",
    "teacher.gprgnn.model.hidden=128",
    "teacher.gprgnn.model.restart=0.5",
    "teacher.gprgnn.model.hidden_dropout=0.7",
    "teacher.gprgnn.model.score_dropout=0.0",
    "teacher.gprgnn.train.epochs=300",
    "teacher.gprgnn.train.patience=100",
    "teacher.gprgnn.train.learning_rate=0.02",
]
# Teachers whose probabilities have so much of the largest entropy there can be, in the mean over nodes.
SOFT = ["curriculum.temperature=entropy:0.6"]
SOFTER = ["curriculum.temperature=entropy:0.8"]
# The student of the released code, along the neighbours it takes, but with an epoch that is chosen on validation nodes alone.
REFERENCE = ["preset=reference", "train.selection=strict"]

RECIPES = {
    "texas": recipes(2, TEXAS, [])
    | {
        "fsgnn-gprgnn-5-no-fine-tuning": MIXED + TEXAS + student(2, fine_tuning="0"),
        "fsgnn-gprgnn-5-five-neighbours": MIXED + TEXAS + student(5),
        "fsgnn-gprgnn-5-soft": MIXED + TEXAS + student(2, fine_tuning="0") + SOFT,
        "fsgnn-gprgnn-5-softer": MIXED + TEXAS + student(2, fine_tuning="0") + SOFTER,
        "fsgnn-gprgnn-5-reference": MIXED + TEXAS + REFERENCE,
        "fsgnn-gprgnn-5-reference-soft": MIXED + TEXAS + REFERENCE + SOFT,
    },
    "wisconsin": recipes(1, WISCONSIN, GPRGNN_OF_WISCONSIN)
    | {
        "fsgnn-10-five-neighbours": FSGNN + WISCONSIN + student(5),
        "fsgnn-wide-10-no-fine-tuning": FSGNN + WIDE + student(1, fine_tuning="0"),
        "fsgnn-wide-10-no-smoothing": FSGNN + WIDE + student(1, steps="0"),
        "fsgnn-wide-10-given-edges": FSGNN + WIDE + student(1, graph="given"),
        "fsgnn-wide-10-five-neighbours": FSGNN + WIDE + student(5),
        "fsgnn-wide-10-five-neighbours-no-fine-tuning": FSGNN + WIDE + student(5, fine_tuning="0"),
    },
    "cornell": recipes(2, CORNELL, []) | {"fsgnn-gprgnn-5-five-neighbours": MIXED + CORNELL + student(5)},
    "cornell-2020": recipes(2, CORNELL, [])
    | {
        "fsgnn-wide-gprgnn-5-no-fine-tuning": MIXED + WIDE + student(2, fine_tuning="0"),
        "fsgnn-wide-gprgnn-5-five-neighbours": MIXED + WIDE + student(5),
        "fsgnn-wide-gprgnn-5-soft": MIXED + WIDE + student(2) + SOFT,
        "fsgnn-wide-gprgnn-5-reference": MIXED + WIDE + REFERENCE,
    },
}
