use super::arguments::by_reading;
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
    let (parts, left_out) = parts(&found.iter().collect::<Vec<_>>());
    let settings: Vec<&str> = parts
        .iter()
        .filter_map(|part| Some(part.setting.as_ref()?.0))
        .collect();
    assert_eq!(settings, ["train.batch-size"]);
    let parameters: Vec<&str> = parts
        .iter()
        .filter_map(|part| part.parameter.as_deref())
        .collect();
    assert_eq!(
        parameters,
        [
            "lr = { float = [1e-5, 1e-1], default = 1e-3 }",
            "amp = { bool = true, default = false, flag = \"--amp\" }",
        ]
    );
    assert_eq!(left_out.len(), 1, "{left_out:?}");
    assert!(found[3].is_required);
}

/// Words in `run` and lines of parameters, for calls of `add_argument`.
fn became(calls: &[&str]) -> (Vec<String>, Vec<String>, Vec<String>) {
    let lines: Vec<String> = calls
        .iter()
        .map(|call| format!("p.add_argument({call})\n"))
        .collect();
    let source = lines.concat();
    let found = by_reading(&source);
    let (parts, left_out) = parts(&found.iter().collect::<Vec<_>>());
    let words = parts.iter().map(|part| part.word.clone()).collect();
    let lines = parts.into_iter().filter_map(|part| part.parameter);
    (words, lines.collect(), left_out)
}

#[test]
fn a_name_becomes_a_valid_one_and_the_option_stays() {
    let (words, lines, _) = became(&[
        "'--channels-last', action='store_true'",
        "'--block_size', type=int, default=32",
        "'--lrD', type=float, default=2e-4",
        "'--lr-d', type=float, default=2e-4",
        "'--batchSize', type=int, default=64",
        "'--device', default=0, type=int",
        "'--manualSeed', type=int",
        "'--num-threads', type=int, default=0",
        "'--niter', type=int, default=3, help='number of epochs'",
    ]);
    let expected = [
        "{channels_last}",
        "--block_size={block_size}",
        "--lrD={lr_d}",
        "--lr-d={lr_d_2}",
        "--batchSize={train.batch-size}",
        "--device={script_device}",
        "--manualSeed={seed}",
        "--num-threads={threads}",
        "--niter={train.epochs}",
    ];
    assert_eq!(words, expected);
    let channels = "channels_last = { bool = true, default = false, flag = \"--channels-last\" }";
    assert_eq!(lines[0], channels);
    assert_eq!(lines.len(), 5);
}

#[test]
fn a_range_has_only_valid_values() {
    let (_, lines, left_out) = became(&[
        "'--port', type=int, default=29513",
        "'--world-rank', type=int, default=1",
        "'--beta1', type=float, default=0.5",
        "'--clip', type=float, default=1.0",
        "'--wd', type=float, default=0.0",
        "'--steps', type=int, default=8",
        "'--big', type=int, default=9000000000000000000",
        "'--save', default='a.pt'",
        "'--name', type=str, default='b'",
        "'--resume', type=int",
        "'--no-augment', dest='augment', action='store_false'",
    ]);
    let expected = [
        "port = 29513",
        "world_rank = 1",
        "beta1 = { float = [5e-3, 7.5e-1], default = 5e-1 }",
        "clip = { float = [1e-2, 1e2], default = 1e0 }",
        "wd = 0.0",
        "steps = { int = [2, 32], default = 8 }",
        "big = 9000000000000000000",
        "no_augment = { bool = true, default = false, flag = \"--no-augment\" }",
    ];
    assert_eq!(lines, expected);
    let expected = [
        "left out (a text; what the script has by default holds): `--save`, `--name`",
        "left out (no default; what the script has by default holds): `--resume`",
    ];
    assert_eq!(left_out, expected);
}

#[test]
fn a_script_of_pytorch_is_known_by_its_imports() {
    assert!(PYTORCH.is_match(SOURCE));
    assert!(PYTORCH.is_match("import argparse, torch.nn as nn"));
    assert!(!PYTORCH.is_match("# import torch"));
    assert!(!PYTORCH.is_match("import my.torch, os"));
    // Only what trains with a loader has one.
    assert!(LOADERS.is_match("trainer = Trainer(model)"));
    assert!(LOADERS.is_match("import timm"));
    assert!(!LOADERS.is_match("# timm\nfrom transformers import GPT2LMHeadModel"));
}

#[test]
fn a_word_after_a_flag_is_a_positional_argument() {
    let source = "p.add_argument('--verbose', action='store_true')\np.add_argument('data')\n";
    let found = by_reading(source);
    let needed = |fixed: &[&str]| open(&found, fixed).iter().any(|one| one.is_required);
    assert!(!needed(&["--verbose", "mydata"]));
    assert!(needed(&["--verbose"]) && needed(&[]));
}
