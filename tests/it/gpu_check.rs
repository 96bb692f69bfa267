//! The scripts in `tests/gpu` (for a machine with a GPU and without cargo), with stubs for the programs that they call.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;

use crate::project::{Project, assert_says};

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

fn text_of(output: &Output) -> String {
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
    let said = text_of(&ended);
    assert_eq!(ended.status.code(), Some(1), "{said}");
    let summary = project.read("out/summary.txt");
    let failed = "2 of 3 passed; failed: ops::conv2d (134)";
    assert!(summary.contains(failed), "{summary}\n{said}");
    assert_says(&said, "thread 'ops::conv2d::tests::c' panicked");
    let packed = fs::read(project.path("out/results.tar.gz")).unwrap();
    GzDecoder::new(&packed[..])
        .read_to_end(&mut Vec::new())
        .expect("a complete archive");
}

/// A tool that lends such a machine may limit what is copied there; here to 64 MiB, packed or not.
#[test]
fn what_is_carried_to_a_gpu_fits_in_60_mebibytes() {
    /// Program and tests, packed, where they are not built: 27 MiB in November 2026.
    const PACKED: u64 = 30 << 20;
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let listed = Command::new("git")
        .args([
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ])
        .current_dir(root)
        .output();
    let Ok(listed) = listed
        .as_ref()
        .map(|listed| String::from_utf8_lossy(&listed.stdout))
    else {
        eprintln!("skipped: no git");
        return;
    };
    let size = |path: &Path| fs::metadata(path).map_or(0, |file| file.len());
    let tracked: u64 = listed.split('\0').map(|name| size(&root.join(name))).sum();
    let packed = fs::read_dir(root.join("target/cuda")).map_or(0, |files| {
        files.map(|file| size(&file.unwrap().path())).sum()
    });
    let carried = tracked + if packed == 0 { PACKED } else { packed };
    assert!(
        carried <= 60 << 20,
        "{tracked} bytes of files, {packed} of target/cuda"
    );
}

#[test]
fn the_kernels_of_one_step_are_those_between_two_optimizer_steps() {
    let line = |name, time| format!("\"{name}\",\"gpu__time_duration.sum\",\"us\",\"{time}\"\n");
    let step = [
        ("void conv<(int)3>(float*)", "1,500"),
        ("update_adam_many", "500"),
    ];
    let mut text =
        "==PROF== Connected\n\"Kernel Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n"
            .to_owned();
    for (name, time) in [step, step, step].concat() {
        text += &line(name, time);
    }
    let project = Project::new().file("kernels-f32.csv", &text);
    let ended = Command::new("python3")
        .arg("-B")
        .arg(scripts().join("results.py"))
        .arg("kernels")
        .arg(project.path("kernels-f32.csv"))
        .output();
    let Ok(ended) = ended else {
        eprintln!("skipped: no python3");
        return;
    };
    let expected = "kernels-f32: one step, 2 kernels, 2.000 ms\n    \
                    1.500 ms  75.0 %    1 × void conv\n    0.500 ms  25.0 %    1 × update_adam_many\n";
    assert_eq!(text_of(&ended), expected);
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
    let said = text_of(&ended);
    assert!(ended.status.success(), "{said}");
    let folder = |wheel| project.path(&format!("packages/nvidia/{wheel}/lib"));
    let (blas, dnn) = (folder("cu13"), folder("cudnn"));
    assert_eq!(
        said.trim(),
        format!("{}:{}:/mine", blas.display(), dnn.display())
    );
}
