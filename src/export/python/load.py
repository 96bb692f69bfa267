def load(path=Path(__file__).with_name("weights.safetensors"), device="cpu"):
    """The model with its trained weights, for inference."""
    model = Model()
    load_model(model, str(path))
    return model.to(device).eval()
