use super::*;

const SOURCE: &str = r#"
import torch
parser.add_argument("-b", "--batch-size", type=int, default=16)
parser.add_argument("--lr", type=float, default=1e-3, help="rate")
parser.add_argument("--amp", action="store_true")
parser.add_argument("--data", required=True)
print(f"epoch {epoch}: train_loss={loss:.3f} Acc: {right / n}")
"#;

#[test]
fn arguments_are_found_in_the_source() {
    let found = by_reading(SOURCE);
    let names: Vec<&str> = found.iter().map(|one| &*one.option).collect();
    assert_eq!(names, ["--batch-size", "--lr", "--amp", "--data"]);
    assert_eq!(role(&found[0]), Some("train.batch-size"));
    let forms: Vec<Option<String>> = found.iter().map(|one| part(one)?.parameter).collect();
    assert_eq!(
        forms,
        [
            None,
            Some("lr = { float = [1e-5, 1e-1], default = 1e-3 }".to_owned()),
            Some("amp = { bool = true, default = false, flag = \"--amp\" }".to_owned()),
            None,
        ]
    );
    assert!(found[3].is_required);
}

#[test]
fn a_script_of_pytorch_is_known_by_its_imports() {
    assert!(PYTORCH.is_match(SOURCE));
    assert!(PYTORCH.is_match("import argparse, torch.nn as nn"));
    assert!(!PYTORCH.is_match("# import torch"));
    assert!(!PYTORCH.is_match("import my.torch, os"));
}
