//! The scripts in `tests/gpu` (for a machine with a GPU and without cargo), with stubs for the programs that they call.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::project::Project;

/// A test program in which the tests of `ops::conv2d` abort.
const TESTS: &str = r#"#!/bin/sh
case " $* " in
*" --list "*)
  printf '%s: test\n' ops::add::tests::a ops::conv2d::cuda::tests::b ops::conv2d::tests::c ops::mse::tests::d
  printf '\n4 tests, 0 benchmarks\n' ;;
*" ops::conv2d:: "*) echo "thread 'ops::conv2d::tests::c' panicked"; kill -ABRT $$ ;;
esac
"#;

fn scripts() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/gpu"))
}

fn text(output: &Output) -> String {
    [&output.stdout, &output.stderr]
        .map(|bytes| String::from_utf8_lossy(bytes).into_owned())
        .concat()
}

#[test]
fn a_test_that_aborts_ends_the_tests_of_its_own_operation_only() {
    let project = Project::new().file("experiments/none.toml", "");
    fs::create_dir_all(project.path("tests/gpu")).unwrap();
    let script = project.path("tests/gpu/check.sh");
    fs::copy(scripts().join("check.sh"), &script).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let packed = fs::File::create(project.path("tests-kernels.gz")).unwrap();
    let mut packed = GzEncoder::new(packed, Compression::fast());
    packed.write_all(TESTS.as_bytes()).unwrap();
    packed.finish().unwrap();
    let ended = Command::new(&script)
        .args(["ops", "--tests"])
        .arg(project.path(""))
        .env("OUT", project.path("out"))
        .output()
        .expect("bash");
    let said = text(&ended);
    assert_eq!(ended.status.code(), Some(1), "{said}");
    let summary = project.read("out/summary.txt");
    let failed = "2 of 3 passed; failed: ops::conv2d (134)";
    assert!(summary.contains(failed), "{summary}\n{said}");
    assert!(
        said.contains("thread 'ops::conv2d::tests::c' panicked"),
        "{said}"
    );
}

#[test]
fn both_sides_take_cublas_and_cudnn_from_pytorch() {
    let project = Project::new()
        .file("packages/torch/__init__.py", "")
        .file("packages/nvidia/cu13/lib/libcublas.so.13", "")
        .file("packages/nvidia/cudnn/lib/libcudnn.so.9", "");
    let ended = Command::new("python3")
        .args(["-c", "import peers; print(peers.libraries_of_pytorch())"])
        .current_dir(scripts())
        .env("PYTHONPATH", project.path("packages"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("FIELDTRIAL_CUDA_LIBRARIES", "/mine")
        .output();
    let Ok(ended) = ended else {
        eprintln!("skipped: no python3");
        return;
    };
    let said = text(&ended);
    assert!(ended.status.success(), "{said}");
    let folder = |wheel| project.path(&format!("packages/nvidia/{wheel}/lib"));
    let (blas, dnn) = (folder("cu13"), folder("cudnn"));
    assert_eq!(
        said.trim(),
        format!("{}:{}:/mine", blas.display(), dnn.display())
    );
}
