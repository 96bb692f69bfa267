def load(path=Path(__file__).with_name("weights.safetensors"), device="cpu"):
    """The model with its trained weights, for inference."""
    model = Model()
    # Weights that two layers share are in the file once; the counter of a batch norm plays no part in inference.
    missing, unexpected = load_model(model, str(path), strict=False)
    missing = [name for name in missing if not name.endswith("num_batches_tracked")]
    if missing or unexpected:
        raise ValueError(f"{path} does not fit the model: missing {missing}, unexpected {unexpected}")
    return model.to(device).eval()
