def load(path=Path(__file__).with_name("weights.safetensors")):
    """The model with its trained weights, for inference."""
    model = Model()
    # Tied weights are in the file once; a counter of batches plays no part in inference.
    missing, unexpected = load_model(model, str(path), strict=False)
    missing = [name for name in missing if not name.endswith("num_batches_tracked")]
    assert not missing and not unexpected, (missing, unexpected)
    return model.eval()
