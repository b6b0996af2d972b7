"""GAT: attention over neighbours and the node itself, heads side by side, in the last layer averaged."""

import torch
from torch import Tensor
from torch.nn.functional import elu, leaky_relu

from workload import Workload


class Gat:
    def __init__(self, workload: Workload) -> None:
        self.config, self.parameters = workload.model, workload.parameters
        self.transform, self.nodes = workload.transform(), workload.nodes
        loops = torch.arange(self.nodes).expand(2, self.nodes)
        self.sources, self.targets = torch.cat([workload.edges.T, workload.edges.T.flip(0), loops], dim=1)

    def attend(self, values: Tensor, source: Tensor, target: Tensor) -> Tensor:
        """Shapes: values n×K×d, source and target K×d; the result is n×K×d."""
        scores = (values * source).sum(-1)[self.sources] + (values * target).sum(-1)[self.targets]
        scores = leaky_relu(scores, self.config["slope"])
        index = self.targets[:, None].expand_as(scores)
        # Softmax may subtract any constant of a target; its gradient is zero.
        largest = torch.zeros(self.nodes, scores.shape[1]).scatter_reduce(0, index, scores.detach(), "amax", include_self=False)
        weights = (scores - largest[self.targets]).exp()
        sums = torch.zeros_like(largest).index_add(0, self.targets, weights)
        weights = weights / sums[self.targets]
        return torch.zeros_like(values).index_add(0, self.targets, weights[..., None] * values[self.sources])

    def __call__(self) -> Tensor:
        hidden, layers = None, self.config["layers"]
        for layer in range(layers):
            weight, source, target, bias = (
                self.parameters[f"layers.{layer}.{name}"] for name in ("weight", "source", "target", "bias")
            )
            projected = self.transform(weight) if hidden is None else hidden @ weight
            attended = self.attend(projected.view(self.nodes, *source.shape), source, target)
            if layer + 1 < layers:
                hidden = elu(attended.flatten(1) + bias)
            else:
                hidden = attended.mean(dim=1) + bias
        return hidden
