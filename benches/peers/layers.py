"""Any declared model with torch.nn, from `fieldtrial list model MANIFEST NAME --format json`: reference files and times.

    python3 layers.py reference MODEL.json --out DIR [--batch 3] [--seed 0] [--optimizer adam] [--lr 1e-3] [--double]
                                           [--weight-decay 0.01] [--clip 1.0] [--freeze PATTERN …]
    python3 layers.py bench MODEL.json [--batch 32] [--threads 2] [--channels-last] [--compile] [--steps 20]
                                       [--device cuda] [--precision bf16] [--fused]
    python3 layers.py count MODEL.json
"""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from common import PRECISIONS, Task, count_parameters, save
from common import bench as timed

FUNCTIONS = {
    "relu": nn.ReLU, "silu": nn.SiLU, "gelu": nn.GELU, "tanh": nn.Tanh, "sigmoid": nn.Sigmoid,
    "leaky-relu": nn.LeakyReLU, "softplus": nn.Softplus,
}


class Apply(nn.Module):
    """A function as a module, so that positions in nn.Sequential stay those of the layers."""

    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Tensor) -> Tensor:
        return self.function(x)


class Residual(nn.Module):
    def __init__(self, layers: nn.Module, shortcut: nn.Module) -> None:
        super().__init__()
        self.layers, self.shortcut = layers, shortcut

    def forward(self, x: Tensor) -> Tensor:
        return self.shortcut(x) + self.layers(x)


class Parallel(nn.Module):
    def __init__(self, branches: list[nn.Module], join: str, is_image: bool) -> None:
        super().__init__()
        self.branches, self.join, self.is_image = nn.ModuleList(branches), join, is_image

    def forward(self, x: Tensor) -> Tensor:
        results = [branch(x) for branch in self.branches]
        if self.join == "concat":
            return torch.cat(results, 1 if results[0].dim() == 4 else -1)
        largest = max(range(len(results)), key=lambda at: (results[at].numel(), -at))
        joined = results[largest]
        for at, one in enumerate(results):
            if at == largest:
                continue
            if one.dim() == 2 and joined.dim() == 4:
                one = one[:, :, None, None]
            joined = joined + one if self.join == "add" else joined * one
        return joined


class PositionEmbedding(nn.Module):
    def __init__(self, tokens: int, features: int, std: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(std * torch.randn(tokens, features))

    def forward(self, x: Tensor) -> Tensor:
        return x + self.weight


class ClassToken(nn.Module):
    def __init__(self, features: int, std: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(std * torch.randn(features))

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([self.weight.expand(x.shape[0], 1, -1), x], 1)


class Attention(nn.Module):
    """nn.MultiheadAttention's parameters and initial values, with any width of heads."""

    def __init__(self, features: int, layer: dict[str, Any]) -> None:
        super().__init__()
        self.heads, self.causal, self.p = layer["heads"], layer["causal"], layer["dropout"]
        inner = self.heads * layer["head-width"]
        self.in_proj_weight = nn.Parameter(torch.empty(3 * inner, features))
        nn.init.xavier_uniform_(self.in_proj_weight)
        self.in_proj_bias = nn.Parameter(torch.zeros(3 * inner)) if layer["bias"] else None
        self.out_proj = nn.Linear(inner, features, bias=layer["bias"])
        if layer["bias"]:
            nn.init.zeros_(self.out_proj.bias)

    def forward(self, x: Tensor) -> Tensor:
        qkv = F.linear(x, self.in_proj_weight, self.in_proj_bias)
        q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in qkv.chunk(3, -1))
        p = self.p if self.training else 0.0
        y = F.scaled_dot_product_attention(q, k, v, dropout_p=p, is_causal=self.causal)
        return self.out_proj(y.transpose(1, 2).flatten(2))


class OverChannels(nn.Module):
    """A norm over the channels of every pixel; over features it is the norm itself."""

    def __init__(self, kind: Any, channels: int, eps: float, is_image: bool) -> None:
        super().__init__()
        norm = kind(channels, eps=eps)
        self.weight = norm.weight
        if getattr(norm, "bias", None) is not None:
            self.bias = norm.bias
        self.is_layer_norm, self.eps, self.is_image = kind is nn.LayerNorm, eps, is_image

    def forward(self, x: Tensor) -> Tensor:
        if self.is_image:
            x = x.permute(0, 2, 3, 1)
        shape = self.weight.shape
        if self.is_layer_norm:
            x = F.layer_norm(x, shape, self.weight, self.bias, self.eps)
        else:
            x = F.rms_norm(x, shape, self.weight, self.eps)
        return x.permute(0, 3, 1, 2) if self.is_image else x


class Tied(nn.Module):
    """A linear layer or convolution with another layer's weight."""

    def __init__(self, root: "Model", name: str, bias: int | None, function: Any) -> None:
        super().__init__()
        self.find = lambda: root.get_parameter(name)
        self.function = function
        self.bias = nn.Parameter(torch.zeros(bias)) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        return self.function(x, self.find(), self.bias)


def last(form: dict[str, Any]) -> int:
    """Features or channels of a form."""
    (kind, sizes), = form.items()
    return sizes["channels" if kind == "image" else "features"]


def patches(x: Tensor, size: int) -> Tensor:
    """(B, C, H, W) to (B, H/p · W/p, p · p · C), channels innermost."""
    b, c, h, w = x.shape
    x = x.reshape(b, c, h // size, size, w // size, size)
    return x.permute(0, 2, 4, 3, 5, 1).reshape(b, (h // size) * (w // size), size * size * c)


class Model(nn.Module):
    def __init__(self, layers: list[dict[str, Any]]) -> None:
        super().__init__()
        self.layers = self.sequence(layers)

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x)

    def sequence(self, layers: list[dict[str, Any]]) -> nn.Sequential:
        return nn.Sequential(*(self.build(layer) for layer in layers))

    def build(self, layer: dict[str, Any]) -> nn.Module:
        kind, form = layer["layer"], layer["input"]
        is_image = "image" in form
        match kind:
            case "linear":
                if layer["tie"]:
                    return Tied(self, layer["tie"], layer["outputs"] if layer["bias"] else None, F.linear)
                return nn.Linear(last(form), layer["outputs"], bias=layer["bias"])
            case "conv":
                options = {key: layer[key] for key in ("stride", "padding", "dilation", "groups")}
                if layer["tie"]:
                    function = lambda x, w, b: F.conv2d(x, w, b, **options)  # noqa: E731
                    return Tied(self, layer["tie"], layer["outputs"] if layer["bias"] else None, function)
                return nn.Conv2d(last(form), layer["outputs"], layer["kernel"], bias=layer["bias"], **options)
            case "max-pool":
                return nn.MaxPool2d(layer["kernel"], layer["stride"], layer["padding"])
            case "average-pool":
                return nn.AvgPool2d(layer["kernel"], layer["stride"], layer["padding"])
            case "global-average-pool":
                return Apply(lambda x: x.mean((2, 3)))
            case "upsample":
                return nn.Upsample(scale_factor=layer["factor"])
            case "flatten":
                return nn.Flatten()
            case "transpose":
                return Apply(lambda x: x.transpose(1, 2))
            case "patches":
                return Apply(lambda x: patches(x, layer["size"]))
            case "tokens":
                return Apply(lambda x: x.flatten(2).transpose(1, 2))
            case "embedding":
                embedding = nn.Embedding(layer["vocabulary"], last(layer["output"]))
                nn.init.normal_(embedding.weight, std=layer["std"])
                return embedding
            case "position-embedding":
                return PositionEmbedding(form["tokens"]["tokens"], last(form), layer["std"])
            case "class-token":
                return ClassToken(last(form), layer["std"])
            case "first-token":
                return Apply(lambda x: x[:, 0])
            case "mean-over-tokens":
                return Apply(lambda x: x.mean(1))
            case "attention":
                return Attention(last(form), layer)
            case "batch-norm":
                norm = nn.BatchNorm2d if is_image else nn.BatchNorm1d
                return norm(last(form), eps=layer["eps"], momentum=layer["momentum"])
            case "group-norm":
                return nn.GroupNorm(layer["groups"], last(form))
            case "layer-norm":
                return OverChannels(nn.LayerNorm, last(form), layer["eps"], is_image)
            case "rms-norm":
                return OverChannels(nn.RMSNorm, last(form), layer["eps"], is_image)
            case "dropout":
                return nn.Dropout(layer["p"])
            case "activation":
                return FUNCTIONS[layer["function"]]()
            case "residual":
                return Residual(self.sequence(layer["layers"]), self.sequence(layer["shortcut"]))
            case "parallel":
                return Parallel([self.sequence(branch) for branch in layer["branches"]], layer["join"], is_image)
            case "sequential":
                return self.sequence(layer["layers"])
        raise SystemExit(f"error: unknown layer `{kind}`")


def batch(description: dict[str, Any], size: int) -> dict[str, Tensor]:
    """Random samples and targets of the description's forms."""
    (kind, sizes), = description["features"].items()
    match kind:
        case "image":
            x = torch.randn(size, sizes["channels"], sizes["height"], sizes["width"])
        case "vector":
            x = torch.randn(size, sizes["len"])
        case "tokens":
            x = torch.randint(sizes["vocabulary"], (size, sizes["length"]))
        case _:
            raise SystemExit(f"error: no samples of `{kind}`")
    (kind, sizes), = description["target"].items()
    match kind:
        case "class":
            return {"x": x, "label": torch.randint(sizes["classes"], (size,))}
        case "values":
            return {"x": x, "y": torch.randn(size, sizes["len"])}
        case "tokens":
            return {"x": x, "label": torch.randint(sizes["vocabulary"], (size, sizes["length"]))}
    raise SystemExit(f"error: no targets of `{kind}`")


def loss_of(output: Tensor, inputs: dict[str, Tensor]) -> Tensor:
    if "y" in inputs:
        return F.mse_loss(output, inputs["y"])
    return F.cross_entropy(output.flatten(0, -2), inputs["label"].flatten())


def optimizer_of(model: nn.Module, args: argparse.Namespace, fused: bool = False) -> torch.optim.Optimizer:
    kinds = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW, "sgd": torch.optim.SGD}
    decay = {} if args.weight_decay is None else {"weight_decay": args.weight_decay}
    return kinds[args.optimizer](model.parameters(), lr=args.lr, fused=fused or None, **decay)


def matches(pattern: str, name: str) -> bool:
    """Whether a pattern of `train.freeze` matches: `*` is within a part of the name, `**` is any number of parts."""
    parts = (
        r"(?:[^.]*\.)*" if part == "**" else re.escape(part).replace(r"\*", "[^.]*") + r"\."
        for part in pattern.split(".")
    )
    return re.fullmatch("".join(parts), name + ".") is not None


def freeze(model: nn.Module, patterns: list[str]) -> None:
    for pattern in patterns:
        matched = [parameter for name, parameter in model.named_parameters() if matches(pattern, name)]
        if not matched:
            raise SystemExit(f"error: `{pattern}` matches no parameter")
        for parameter in matched:
            parameter.requires_grad_(False)


def state(model: nn.Module) -> dict[str, Tensor]:
    """Parameters and running statistics; a shared weight once, under its first name."""
    tensors = dict(model.named_parameters())
    tensors |= {name: value for name, value in model.named_buffers() if "running" in name}
    return tensors


def randomise_norms(model: nn.Module) -> None:
    """Weights and biases of norms away from 1 and 0, at which some gradients vanish, and errors of biases do not show."""
    for module in model.modules():
        if isinstance(module, nn.BatchNorm1d | nn.BatchNorm2d | nn.GroupNorm | OverChannels):
            for name, value in module.named_parameters(recurse=False):
                nn.init.uniform_(value, *((-0.5, 0.5) if name.endswith("bias") else (0.5, 1.5)))


def reference(args: argparse.Namespace, description: dict[str, Any], model: Model) -> None:
    """One step's loss and gradients, weights and statistics after three steps, then the loss in evaluation."""
    args.out.mkdir(parents=True, exist_ok=True)
    for module in model.modules():
        if isinstance(module, nn.Dropout | Attention):
            module.p = 0.0
    randomise_norms(model)
    inputs = batch(description, args.batch)
    save(args.out / "inputs.safetensors", inputs)
    save(args.out / "weights.safetensors", state(model))
    if args.double:
        model.double()
        inputs = {name: value.double() if value.is_floating_point() else value for name, value in inputs.items()}
    model.train()
    freeze(model, args.freeze)
    optimizer = optimizer_of(model, args)
    losses = []
    for step in range(3):
        optimizer.zero_grad()
        loss = loss_of(model(inputs["x"]), inputs)
        loss.backward()
        losses.append(loss.item())
        if step == 0:
            save(args.out / "grads.safetensors", {name: p.grad for name, p in model.named_parameters() if p.requires_grad})
        if args.clip is not None:
            torch.nn.utils.clip_grad_norm_(model.parameters(), args.clip)
        optimizer.step()
    save(args.out / "weights_after.safetensors", state(model))
    model.eval()
    with torch.no_grad():
        evaluation = loss_of(model(inputs["x"]), inputs).item()
    expected = {"loss": losses[0], "evaluation": evaluation, "losses": losses, "parameters": count_parameters(model)}
    (args.out / "expected.json").write_text(json.dumps(expected) + "\n")
    print(f"{description['model']}: {expected['parameters']:,} parameters, losses {losses}, evaluation {evaluation}")


class LayersTask(Task):
    """A training step of a declared model on random samples."""

    def forward(self, inputs: dict[str, Tensor]) -> Tensor:
        return self.model(inputs["x"])

    def loss(self, output: Tensor, inputs: dict[str, Tensor]) -> Tensor:
        return loss_of(output.float(), inputs)

    def channels_last(self) -> None:
        self.model.to(memory_format=torch.channels_last)
        if self.batch["x"].dim() == 4:
            self.batch["x"] = self.batch["x"].contiguous(memory_format=torch.channels_last)


def bench(args: argparse.Namespace, description: dict[str, Any], model: nn.Module) -> None:
    """Prints one JSON line: the time of a training step."""
    torch.set_num_threads(args.threads)
    device = torch.device(args.device)
    task = LayersTask(model, batch(description, args.batch), optimizer_of(model, args, args.fused))
    task.set_precision(args.precision, device)
    if args.channels_last:
        task.channels_last()
    if args.compile:
        task.compile()
    line = {
        "model": description["model"], "batch": args.batch, "threads": args.threads, "precision": args.precision,
        "channels_last": args.channels_last, "compile": args.compile, "parameters": count_parameters(model),
    }
    print(json.dumps(line | timed(task, device, args.batch, args.steps, args.warmup)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["reference", "bench", "count"])
    parser.add_argument("model", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--batch", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--warmup", type=int, default=5)
    parser.add_argument("--optimizer", choices=["adam", "adamw", "sgd"], default="adam")
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--weight-decay", type=float)
    parser.add_argument("--clip", type=float, help="largest norm of the gradients")
    parser.add_argument("--freeze", nargs="+", default=[], metavar="PATTERN", help="parameters that are not trained, as `train.freeze`")
    parser.add_argument("--double", action="store_true", help="compute the reference in f64")
    parser.add_argument("--channels-last", action="store_true")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--precision", choices=PRECISIONS, default="f32")
    parser.add_argument("--fused", action="store_true", help="the optimizer's fused kernel")
    args = parser.parse_args()
    description = json.loads(args.model.read_text())
    torch.manual_seed(args.seed)
    model = Model(description["layers"])
    if count_parameters(model) != description["parameters"]:
        raise SystemExit(f"error: torch.nn has {count_parameters(model):,} parameters, not {description['parameters']:,}")
    match args.command:
        case "reference":
            reference(args, description, model)
        case "bench":
            bench(args, description, model)
        case "count":
            print(f"{description['model']}: {count_parameters(model):,}")


if __name__ == "__main__":
    main()
