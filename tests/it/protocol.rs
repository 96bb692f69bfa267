//! `fieldtrial worker`, called directly.

use std::io::Write;
use std::process::{Command, Output, Stdio};

use crate::project::assert_says;
fn worker(order: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_fieldtrial"))
        .arg("worker")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program");
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(order.as_bytes()).expect("written");
    let output = child.wait_with_output().expect("an end");
    drop(stdin);
    output
}

#[test]
fn an_order_of_another_version_is_answered_and_nothing_is_trained() {
    let output = worker("{\"protocol\":99}\n");
    let text = String::from_utf8(output.stdout).unwrap();
    let mut lines = text.lines();
    assert!(
        lines
            .next()
            .unwrap()
            .starts_with("{\"event\":\"hello\",\"protocol\":2"),
        "{text}"
    );
    let refused = lines.next().unwrap();
    assert_says(refused, "protocol version 99, this worker has 2");
    assert_eq!(lines.next(), None);
}

#[test]
fn an_order_that_is_none_is_answered_with_a_sentence() {
    let output = worker("nonsense\n");
    let text = String::from_utf8(output.stdout).unwrap();
    assert_says(&text, "\"failed\"");
    assert_says(&text, "cannot read its order");
}
