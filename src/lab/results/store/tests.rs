use std::sync::Arc;

use super::*;
use crate::results::Status;

pub(super) const A: &str = "a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0";
pub(super) const B: &str = "b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0";
pub(super) const CODE: &str = "c0dec0dec0dec0de";
pub(super) const MACHINE: &str = "5f3a9c01";

pub(super) fn run(cell_hash: &str, seed: u64) -> StoredRun {
    StoredRun {
        key: "model=mlp".into(),
        keys: RunKeys {
            cell_hash: cell_hash.into(),
            code_hash: CODE.into(),
            numeric_class: "class".into(),
            conditions: Arc::new(Conditions {
                env_id: MACHINE.into(),
                threads: 2,
                is_exclusive: true,
                warmup_steps: 3,
                phase_steps: 5,
            }),
            seed,
            block: 0,
            until: None,
        },
        hash_parts: Arc::default(),
        work_signature: "".into(),
        kind: "".into(),
        limits: Arc::default(),
        status: Status::Done,
        reason: String::new(),
        facts: None,
        times: None,
        epochs: Arc::default(),
        samples: Vec::new(),
        wall_s: 1.0,
        peak_rss_bytes: None,
        cpu_s: None,
        is_profiled: false,
        estimated_s: None,
        session: None,
        start_s: None,
    }
}

#[test]
fn what_was_put_is_there_after_the_next_start() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(folder.path()).unwrap();
    store.put(run(A, 1)).unwrap();
    store.put(run(A, 2)).unwrap();
    store.put(run(A, 2)).unwrap();
    drop(store);
    let store = Store::open(folder.path()).unwrap();
    assert_eq!(store.runs_of(A), [run(A, 1), run(A, 2)]);
    assert!(store.runs_of(B).is_empty());
}

#[test]
fn steps_are_kept_apart() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(folder.path()).unwrap();
    let steps = vec![StepRow {
        loss: Some(0.5),
        step_ms: 2.0,
    }];
    let mut with_steps = run(A, 1);
    Arc::make_mut(&mut with_steps.epochs).push(crate::event::EpochRow {
        steps: steps.clone(),
        ..crate::event::EpochRow::default()
    });
    store.put(with_steps).unwrap();
    assert!(store.runs_of(A)[0].epochs[0].steps.is_empty());
    assert_eq!(store.steps_of(&run(A, 1).keys), [steps]);
    assert!(store.steps_of(&run(A, 2).keys).is_empty());
}

#[test]
fn a_second_program_is_refused_and_told_by_whom() {
    let folder = tempfile::tempdir().unwrap();
    let _first = Store::open(folder.path()).unwrap();
    let error = Store::open(folder.path()).unwrap_err().to_string();
    let holder = format!("is in use by process {}", std::process::id());
    assert!(error.ends_with(&holder), "{error}");
    assert!(Store::read(folder.path()).is_ok());
}

#[test]
fn a_damaged_file_is_treated_as_absent_and_listed() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(folder.path()).unwrap();
    store.put(run(A, 1)).unwrap();
    drop(store);
    let file = entries(&folder.path().join(".store/runs").join(A))
        .unwrap()
        .remove(0);
    fs::write(&file, "{").unwrap();
    let read = Store::read(folder.path()).unwrap();
    assert_eq!(read.damaged(), [file.as_path()]);
    assert!(file.exists(), "who only reads moves nothing");
    let store = Store::open(folder.path()).unwrap();
    assert!(store.runs_of(A).is_empty());
    assert_eq!(store.damaged(), [file.as_path()]);
    assert_eq!(damaged_files(folder.path()), 1);
    drop(store);
    assert!(Store::open(folder.path()).unwrap().damaged().is_empty());
}

/// Number of files that were moved to `damaged/`.
fn damaged_files(results: &Path) -> usize {
    entries(&results.join(".store/damaged")).unwrap().len()
}

/// The file of the only stored run of a results folder.
fn file_of_run(results: &Path) -> PathBuf {
    let cell = entries(&results.join(".store/runs")).unwrap().remove(0);
    entries(&cell).unwrap().remove(0)
}

/// Replaces a text that occurs once in a file.
fn replace(path: &Path, from: &str, to: &str) {
    let text = fs::read_to_string(path).unwrap();
    assert_eq!(text.matches(from).count(), 1, "{from} in {text}");
    fs::write(path, text.replace(from, to)).unwrap();
}

#[test]
fn one_changed_digit_of_a_record_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(folder.path()).unwrap();
    let parts: BTreeMap<String, String> = [("ops".to_owned(), "1".to_owned())].into();
    store.put(run(A, 1)).unwrap();
    store.put_code(CODE, parts.clone()).unwrap();
    store
        .put_environment(MACHINE, Environment::default())
        .unwrap();
    drop(store);
    let file = file_of_run(folder.path());
    replace(&file, "\"wall_s\":1.0", "\"wall_s\":7.0");
    let code = folder.path().join(format!(".store/codes/{CODE}.json"));
    replace(&code, "\"ops\":\"1\"", "\"ops\":\"2\"");
    let mut store = Store::open(folder.path()).unwrap();
    assert!(store.runs_of(A).is_empty() && store.code_parts(CODE).is_none());
    assert_eq!(store.damaged(), [code, file]);
    assert_eq!(damaged_files(folder.path()), 2);
    // Both files are treated as absent, so that their content can be stored again.
    store.put(run(A, 1)).unwrap();
    store.put_code(CODE, parts.clone()).unwrap();
    drop(store);
    let store = Store::open(folder.path()).unwrap();
    assert_eq!(store.runs_of(A), [run(A, 1)]);
    assert_eq!(store.code_parts(CODE), Some(&parts));
    assert!(store.environments().contains_key(MACHINE));
}

#[cfg(unix)]
#[test]
fn those_who_may_read_the_results_folder_may_read_the_store() {
    use std::os::unix::fs::PermissionsExt;
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    for (of_folder, of_file) in [(0o750, 0o640), (0o775, 0o644), (0o700, 0o600)] {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(of_folder)).unwrap();
        Store::open(folder.path()).unwrap().put(run(A, 1)).unwrap();
        assert_eq!(mode(&file_of_run(folder.path())), of_file);
    }
}

#[test]
fn records_without_a_checksum_are_read() {
    let folder = tempfile::tempdir().unwrap();
    Store::open(folder.path()).unwrap().put(run(A, 1)).unwrap();
    let file = file_of_run(folder.path());
    fs::write(&file, serde_json::to_vec(&run(A, 1)).unwrap()).unwrap();
    let store = Store::open(folder.path()).unwrap();
    assert_eq!(store.runs_of(A), [run(A, 1)]);
    assert!(store.damaged().is_empty());
}

#[test]
fn a_run_whose_ids_are_no_digests_is_damaged() {
    let above = "../../../../a";
    let wrong: [fn(&mut StoredRun, &str); 4] = [
        |run, id| run.keys.cell_hash = id.into(),
        |run, id| run.keys.code_hash = id.into(),
        |run, id| Arc::make_mut(&mut run.keys.conditions).env_id = id.into(),
        |run, id| {
            run.samples.push(StoredSample {
                name: "x".into(),
                caption: String::new(),
                digest: id.into(),
            });
        },
    ];
    for wrong in wrong {
        let folder = tempfile::tempdir().unwrap();
        Store::open(folder.path()).unwrap().put(run(A, 1)).unwrap();
        let mut forged = run(A, 1);
        wrong(&mut forged, above);
        let file = file_of_run(folder.path());
        fs::write(&file, serde_json::to_vec(&forged).unwrap()).unwrap();
        let store = Store::open(folder.path()).unwrap();
        assert_eq!(store.runs().count(), 0);
        assert_eq!(store.damaged(), [file]);
    }
}

#[test]
fn an_image_is_found_by_a_digest_and_by_no_path() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    fs::write(folder.path().join("secret.png"), b"png").unwrap();
    assert_eq!(store.sample("../../secret"), None);
    // The digest of the content is not that of the file name: the image is damaged.
    let digest = "0123456789abcdef";
    fs::write(
        folder.path().join(format!(".store/samples/{digest}.png")),
        b"png",
    )
    .unwrap();
    assert_eq!(store.sample(digest), None);
}

#[test]
fn a_pruned_run_is_stored_beside_the_complete_one() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(folder.path()).unwrap();
    let until = |epochs: usize, reason: &str| StoredRun {
        keys: RunKeys {
            until: Some(epochs),
            ..run(A, 1).keys
        },
        status: Status::Pruned,
        reason: reason.into(),
        ..run(A, 1)
    };
    let measured_elsewhere = StoredRun {
        keys: RunKeys {
            conditions: Arc::new(Conditions {
                threads: 9,
                ..(*run(A, 1).keys.conditions).clone()
            }),
            ..run(A, 1).keys
        },
        ..run(A, 1)
    };
    for run in [
        until(2, "first"),
        run(A, 1),
        until(4, "longer"),
        until(2, "again"),
        measured_elsewhere.clone(),
        run(A, 2),
    ] {
        store.put(run).unwrap();
    }
    drop(store);
    let store = Store::open(folder.path()).unwrap();
    let asked = run(A, 1).keys;
    assert_eq!(store.runs_of(A).len(), 5);
    let wholes = store.runs_of(A).iter();
    let wholes = wholes.filter(|run| run.keys.has_same_facts_as(&asked));
    assert_eq!(wholes.count(), 2);
}

#[test]
fn a_whole_run_is_written_as_it_always_was() {
    let keys = run(A, 1).keys;
    let json = serde_json::to_value(&keys).unwrap();
    assert!(json.get("until").is_none());
    assert_eq!(serde_json::from_value::<RunKeys>(json).unwrap(), keys);
    let cut_off = RunKeys {
        until: Some(3),
        ..keys.clone()
    };
    let (whole, cut_off) = (keys.path("runs"), cut_off.path("runs"));
    let stem = whole.to_string_lossy().replace(".json", "");
    assert_eq!(cut_off.to_string_lossy(), format!("{stem}-until-3.json"));
}

#[test]
fn runs_of_a_cell_share_what_is_equal() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(folder.path()).unwrap();
    for block in 0..2 {
        let mut run = run(A, 1);
        run.keys.block = block;
        run.facts = Some(Arc::default());
        run.session = Some(format!("session {block}").into());
        store.put(run).unwrap();
    }
    let [one, other] = store.runs_of(A) else {
        panic!("two runs")
    };
    assert!(Arc::ptr_eq(&one.limits, &other.limits));
    assert!(Arc::ptr_eq(
        one.facts.as_ref().unwrap(),
        other.facts.as_ref().unwrap()
    ));
    assert_ne!(one.session, other.session);
}
