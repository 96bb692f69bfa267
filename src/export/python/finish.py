

def finish(output):
    """Probabilities (B, classes), or numbers (B, columns) in the target's own units, from the model's output."""
    if SPEC["class_names"]:
        return output.softmax(-1)
    if SPEC["targets"]:
        scales = torch.tensor([[scale["std"], scale["mean"]] for scale in SPEC["targets"]], dtype=torch.float64)
        values = output.double() * scales[:, 0] + scales[:, 1]
        return torch.where(torch.tensor([scale.get("log", False) for scale in SPEC["targets"]]), values.exp(), values)
    return output
