"""A small writer of ONNX graphs: tensors that add and multiply like arrays.

Note: written here and not with an existing builder. skl2onnx's algebra computes in single
precision unless every constant is typed, and its operators are named by version. What is needed is
thirty lines: constants, operators, and one kind of loop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core.extras import needed

OPSET = 18
# The newest version of the file format that onnxruntime 1.18 reads.
IR_VERSION = 9


class Graph:
    """Nodes and constants of a graph that is being written; a loop has a graph inside."""

    def __init__(self, prefix: str = "", depth: int = 0) -> None:
        self.onnx = needed("onnx", "onnx", "Exporting needs onnx")
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.depth = depth  # the number of loops around it
        self._prefix = prefix
        self._count = 0

    def name(self, kind: str) -> str:
        """Return a name that no other tensor has."""
        self._count += 1
        return f"{self._prefix}{kind.lower()}_{self._count}"

    def constant(self, value: Any) -> Tensor:
        """Return a constant; numbers are doubles unless they are integers."""
        array = np.asarray(value)
        if array.dtype.kind == "f":
            array = array.astype(np.float64)
        name = self.name("constant")
        self.constants.append(self.onnx.numpy_helper.from_array(np.array(array, order="C"), name))
        return Tensor(self, name)

    def op(self, kind: str, *inputs: Any, **attributes: Any) -> Tensor:
        """Apply an operator of ONNX to tensors or numbers."""
        given = [value.graph for value in inputs if isinstance(value, Tensor)]
        home = max([self, *given], key=lambda graph: graph.depth)
        if home is not self:  # a tensor of a loop can only be read inside it
            return home.op(kind, *inputs, **attributes)
        names = [self.tensor(value).name for value in inputs]
        output = self.name(kind)
        self.nodes.append(self.onnx.helper.make_node(kind, names, [output], **attributes))
        return Tensor(self, output)

    def tensor(self, value: Any) -> Tensor:
        """Return a tensor: itself, or a constant."""
        return value if isinstance(value, Tensor) else self.constant(value)

    def concatenate(self, parts: Sequence[Tensor], axis: int) -> Tensor:
        """Put tensors side by side."""
        return self.op("Concat", *parts, axis=axis)

    def repeat(
        self, times: int, start: Sequence[Tensor], step: Callable[..., Sequence[Tensor]]
    ) -> list[Tensor]:
        """Apply a step a fixed number of times; it may read tensors of this graph too."""
        make = self.onnx.helper
        inner = Graph(self.name("loop") + "_", self.depth + 1)
        double = self.onnx.TensorProto.DOUBLE
        states = [Tensor(inner, inner.name("state")) for _ in start]
        results = [inner.op("Identity", value) for value in step(*states)]
        condition = inner.name("go_on")
        count = inner.name("round")
        go_on = inner.op("Identity", Tensor(inner, condition))
        body = make.make_graph(
            inner.nodes,
            inner.name("body"),
            [
                make.make_tensor_value_info(count, self.onnx.TensorProto.INT64, []),
                make.make_tensor_value_info(condition, self.onnx.TensorProto.BOOL, []),
                *(make.make_tensor_value_info(state.name, double, None) for state in states),
            ],
            [
                make.make_tensor_value_info(go_on.name, self.onnx.TensorProto.BOOL, []),
                *(make.make_tensor_value_info(value.name, double, None) for value in results),
            ],
            inner.constants,
        )
        outputs = [self.name("repeated") for _ in start]
        names = [self.constant(np.int64(times)).name, self.constant(True).name]
        names += [value.name for value in start]
        self.nodes.append(make.make_node("Loop", names, outputs, body=body))
        return [Tensor(self, name) for name in outputs]

    def inline(self, model: Any, inputs: Tensor) -> Tensor:
        """Add the nodes of another model with one input and one output."""
        theirs = model.graph
        names = {theirs.input[0].name: inputs.name, "": ""}
        for value in theirs.initializer:
            names[value.name] = self.name("theirs")
            copy = self.onnx.TensorProto()
            copy.CopyFrom(value)
            copy.name = names[value.name]
            self.constants.append(copy)
        for node in theirs.node:
            copy = self.onnx.NodeProto()
            copy.CopyFrom(node)
            for name in node.output:
                names.setdefault(name, self.name("theirs"))
            copy.name = ""
            copy.input[:] = [names[name] for name in node.input]
            copy.output[:] = [names[name] for name in node.output]
            self.nodes.append(copy)
        return Tensor(self, names[theirs.output[0].name])


class Tensor:
    """A tensor of a graph, by name."""

    # So that an array on the left leaves the operation to the tensor.
    __array_ufunc__ = None

    def __init__(self, graph: Graph, name: str) -> None:
        self.graph, self.name = graph, name

    def __add__(self, other: Any) -> Tensor:
        return self.graph.op("Add", self, other)

    def __radd__(self, other: Any) -> Tensor:
        return self.graph.op("Add", other, self)

    def __sub__(self, other: Any) -> Tensor:
        return self.graph.op("Sub", self, other)

    def __rsub__(self, other: Any) -> Tensor:
        return self.graph.op("Sub", other, self)

    def __mul__(self, other: Any) -> Tensor:
        return self.graph.op("Mul", self, other)

    def __rmul__(self, other: Any) -> Tensor:
        return self.graph.op("Mul", other, self)

    def __truediv__(self, other: Any) -> Tensor:
        return self.graph.op("Div", self, other)

    def __rtruediv__(self, other: Any) -> Tensor:
        return self.graph.op("Div", other, self)

    def __matmul__(self, other: Any) -> Tensor:
        return self.graph.op("MatMul", self, other)

    def __neg__(self) -> Tensor:
        return self.graph.op("Neg", self)

    def apply(self, kind: str, **attributes: Any) -> Tensor:
        """Apply an operator of one input."""
        return self.graph.op(kind, self, **attributes)

    def sum(self, axis: int) -> Tensor:
        """Sum along an axis, which is kept."""
        return self.graph.op("ReduceSum", self, np.array([axis]), keepdims=1)

    def largest(self, axis: int) -> Tensor:
        """Return the largest along an axis, which is kept."""
        return self.graph.op("ReduceMax", self, np.array([axis]), keepdims=1)

    def smallest(self, axis: int) -> Tensor:
        """Return the smallest along an axis, which is kept."""
        return self.graph.op("ReduceMin", self, np.array([axis]), keepdims=1)

    def clip(self, low: float, high: float) -> Tensor:
        """Keep entries within bounds."""
        return self.graph.op("Clip", self, np.float64(low), np.float64(high))

    def columns(self, numbers: Any, axis: int = 1) -> Tensor:
        """Take columns by their numbers."""
        return self.graph.op("Gather", self, np.asarray(numbers, dtype=np.int64), axis=axis)

    def widened(self, axis: int) -> Tensor:
        """Add an axis of length 1."""
        return self.graph.op("Unsqueeze", self, np.array([axis]))

    def narrowed(self, axis: int) -> Tensor:
        """Remove an axis of length 1."""
        return self.graph.op("Squeeze", self, np.array([axis]))

    def exp(self) -> Tensor:
        """Return the exponential."""
        return self.apply("Exp")

    def log(self) -> Tensor:
        """Return the logarithm."""
        return self.apply("Log")

    def sigmoid(self) -> Tensor:
        """Return ``1 / (1 + exp(-x))``; far from 0 the exponential is kept finite."""
        return 1.0 / (1.0 + (-self).clip(-740.0, 700.0).exp())

    def log_sigmoid(self) -> Tensor:
        """Return ``log(1 / (1 + exp(-x)))`` without overflow."""
        tail = (1.0 + (-self.apply("Abs")).exp()).log()
        return self.graph.op("Min", self, 0.0) - tail

    def softmax(self) -> Tensor:
        """Return the soft-max over the last axis."""
        shifted = (self - self.largest(-1)).exp()
        return shifted / shifted.sum(-1)

    def normalised(self, n_classes: int) -> Tensor:
        """Divide rows by their sums; a row of zeros becomes uniform."""
        total = self.sum(1)
        empty = self.graph.op("LessOrEqual", total, 0.0)
        divisor = self.graph.op("Where", empty, 1.0, total)
        return self.graph.op("Where", empty, 1.0 / n_classes, self / divisor)
