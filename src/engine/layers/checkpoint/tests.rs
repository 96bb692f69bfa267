use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::*;
use crate::layers::{Embedding, Init, Linear};
use crate::ops::Parameter;
use crate::ops::testing::{self, TestDevice};
use crate::testing::assert_says;

struct Two(Linear<TestDevice>, Embedding<TestDevice>);

impl Module<TestDevice> for Two {
    fn visit(&mut self, path: &Path, visit: &mut dyn FnMut(&str, &mut Parameter<TestDevice>)) {
        self.0.visit(&path.join("first"), visit);
        self.1.visit(&path.join("table"), visit);
    }
}

fn model(seed: u64) -> (TestDevice, Two) {
    let device = testing::device();
    let mut init = Init::new(&device, ChaCha8Rng::seed_from_u64(seed));
    let layers = Two(
        Linear::new(&mut init, 3, 2).unwrap(),
        Embedding::new(&mut init, 4, 2).unwrap(),
    );
    (device, layers)
}

#[test]
fn weights_survive_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("weights.safetensors");
    let ((device, mut saved), (_, mut loaded)) = (model(1), model(2));
    save(&path, &device, &mut saved, &Metadata::new()).unwrap();
    let before = snapshot(&device, &mut saved).unwrap();
    assert_ne!(before, snapshot(&device, &mut loaded).unwrap());
    load(&path, &device, &mut loaded).unwrap();
    assert_eq!(before, snapshot(&device, &mut loaded).unwrap());
    assert_eq!(
        std::fs::read_dir(folder.path()).unwrap().count(),
        1,
        "no temporary file is left"
    );
}

#[test]
fn metadata_is_in_the_header_and_the_same_values_give_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("weights.safetensors");
    let (device, mut saved) = model(1);
    let names = ["seed", "key", "class_names", "model", "format"];
    let metadata: Metadata = names
        .map(|name| (name.into(), format!("\"{name}\" é")))
        .into();
    let mut save_again = || {
        save(&path, &device, &mut saved, &metadata).unwrap();
        std::fs::read(&path).unwrap()
    };
    let bytes = save_again();
    assert_eq!(bytes, save_again());
    let (header, found) = safetensors::SafeTensors::read_metadata(&bytes).unwrap();
    assert_eq!(header % 8, 0);
    let found = found.metadata().clone().unwrap();
    assert_eq!(found.into_iter().collect::<Metadata>(), metadata);
    let read = read(&path).unwrap();
    assert_eq!(
        checksum(&read),
        checksum(&snapshot(&device, &mut saved).unwrap())
    );
}

#[test]
fn names_and_shapes_are_those_of_pytorch() {
    let (device, mut model) = model(1);
    let tensors = snapshot(&device, &mut model).unwrap();
    let listed: Vec<_> = tensors
        .iter()
        .map(|t| (t.name.as_str(), t.shape.clone()))
        .collect();
    assert_eq!(
        listed,
        [
            ("first.weight", vec![2, 3]),
            ("first.bias", vec![2]),
            ("table.weight", vec![4, 2])
        ]
    );
}

#[test]
fn every_mismatch_is_named_and_nothing_changes() {
    let (device, mut model) = model(1);
    let before = snapshot(&device, &mut model).unwrap();
    let mut tensors = before.clone();
    tensors[0].name = "first.wieght".into();
    tensors[1].shape = vec![1, 2];
    tensors[2].name = "elsewhere".into();
    let error = restore(&device, &mut model, &tensors).unwrap_err();
    let expected = "the weights do not fit the model, 5 of its tensors:
  `first.weight` is missing (perhaps `first.wieght`)
  `table.weight` is missing
  `first.wieght` is not in the model (perhaps `first.weight`)
  `elsewhere` is not in the model
  `first.bias` has shape [1, 2], the model's is [2]";
    assert_eq!(error.to_string(), expected);
    assert_eq!(before, snapshot(&device, &mut model).unwrap());
}

#[test]
fn a_file_of_something_else_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("weights.safetensors");
    std::fs::write(&path, "not weights").unwrap();
    let (device, mut model) = model(1);
    let message = load(&path, &device, &mut model).unwrap_err().to_string();
    assert_says(&message, "is no valid safetensors file");
    let message = load(&folder.path().join("absent"), &device, &mut model)
        .unwrap_err()
        .to_string();
    assert!(message.starts_with("cannot access"), "{message}");
}

#[test]
fn the_checksum_is_of_names_shapes_and_bits() {
    let (device, mut model) = model(1);
    let tensors = snapshot(&device, &mut model).unwrap();
    let [mut renamed, mut reshaped, mut changed, mut turned] = [0; 4].map(|_| tensors.clone());
    renamed[0].name.push('x');
    reshaped[0].shape = vec![6];
    changed[2].values[0] = -changed[2].values[0];
    turned.reverse();
    for other in [renamed, reshaped, changed] {
        assert_ne!(checksum(&tensors), checksum(&other));
    }
    assert_eq!(checksum(&tensors), checksum(&turned));
    assert_eq!(checksum(&tensors).len(), 64);
}
