

def finish(output):
    """Probabilities (B, classes) or (B, labels), or numbers (B, columns) in the target's own units, from the model's output."""
    if SPEC.get("label_names"):
        return output.sigmoid()
    if SPEC["class_names"]:
        return output.softmax(-1)
    if SPEC["targets"]:
        scales = torch.tensor([[scale["std"], scale["mean"]] for scale in SPEC["targets"]], dtype=torch.float64)
        values = output.double() * scales[:, 0] + scales[:, 1]
        return torch.where(torch.tensor([scale.get("log", False) for scale in SPEC["targets"]]), values.exp(), values)
    return output


def predicted(values):
    """The likeliest class of one row's probabilities, or the names of the labels that are likely there."""
    if SPEC.get("label_names"):
        return " ".join(name for name, value in zip(SPEC["label_names"], values) if value > 0.5)
    return SPEC["class_names"][values.index(max(values))]
