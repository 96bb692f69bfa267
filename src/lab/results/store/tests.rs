use super::*;
use crate::results::Status;

pub(super) fn run(cell_hash: &str, seed: u64) -> StoredRun {
    StoredRun {
        key: "model=mlp".into(),
        keys: RunKeys {
            cell_hash: cell_hash.into(),
            code_hash: "code".into(),
            numeric_class: "class".into(),
            conditions: Conditions {
                env_id: "e".into(),
                threads: 2,
                is_exclusive: true,
                warmup_steps: 3,
                phase_steps: 5,
            },
            seed,
            block: 0,
            until: None,
        },
        hash_parts: BTreeMap::new(),
        work_signature: String::new(),
        kind: String::new(),
        limits: crate::plan::LimitsSpec::default(),
        status: Status::Done,
        reason: String::new(),
        facts: None,
        times: None,
        epochs: Vec::new(),
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
    store.put(run("a", 1)).unwrap();
    store.put(run("a", 2)).unwrap();
    store.put(run("a", 2)).unwrap();
    drop(store);
    let store = Store::open(folder.path()).unwrap();
    assert_eq!(store.runs_of("a"), [run("a", 1), run("a", 2)]);
    assert!(store.runs_of("b").is_empty());
}

#[test]
fn steps_are_kept_apart() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(folder.path()).unwrap();
    let steps = vec![StepRow {
        loss: Some(0.5),
        step_ms: 2.0,
    }];
    let mut with_steps = run("a", 1);
    with_steps.epochs.push(crate::event::EpochRow {
        steps: steps.clone(),
        ..crate::event::EpochRow::default()
    });
    store.put(with_steps).unwrap();
    assert!(store.runs_of("a")[0].epochs[0].steps.is_empty());
    assert_eq!(store.steps_of(&run("a", 1).keys), [steps]);
    assert!(store.steps_of(&run("a", 2).keys).is_empty());
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
fn another_version_is_refused_with_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    drop(Store::open(folder.path()).unwrap());
    fs::write(folder.path().join(".store/format"), "7\n").unwrap();
    let error = Store::open(folder.path()).unwrap_err().to_string();
    assert!(
        error.ends_with("has format 7, this program reads and writes format 1"),
        "{error}"
    );
}

#[test]
fn temporary_files_of_a_killed_program_are_removed() {
    let folder = tempfile::tempdir().unwrap();
    drop(Store::open(folder.path()).unwrap());
    let left = [
        ".store/tmp/.tmpAbc",
        ".writing-Xyz",
        "plots/.writing-Xyz",
        "checkpoints/a/.writing-Xyz",
        "tensorboard/a/b/.writing-Xyz",
    ];
    let left = left.map(|name| folder.path().join(name));
    for path in &left {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "half").unwrap();
    }
    drop(Store::open(folder.path()).unwrap());
    assert!(left.iter().all(|path| !path.exists()));
}

#[test]
fn a_damaged_file_is_treated_as_absent_and_listed() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(folder.path()).unwrap();
    store.put(run("a", 1)).unwrap();
    drop(store);
    let file = entries(&folder.path().join(".store/runs/a"))
        .unwrap()
        .remove(0);
    fs::write(&file, "{").unwrap();
    let store = Store::open(folder.path()).unwrap();
    assert!(store.runs_of("a").is_empty());
    assert_eq!(store.damaged(), [file]);
}

#[test]
fn a_pruned_run_is_stored_beside_the_complete_one() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(folder.path()).unwrap();
    let until = |epochs: usize, reason: &str| StoredRun {
        keys: RunKeys {
            until: Some(epochs),
            ..run("a", 1).keys
        },
        status: Status::Pruned,
        reason: reason.into(),
        ..run("a", 1)
    };
    let measured_elsewhere = StoredRun {
        keys: RunKeys {
            conditions: Conditions {
                threads: 9,
                ..run("a", 1).keys.conditions
            },
            ..run("a", 1).keys
        },
        ..run("a", 1)
    };
    for run in [
        until(2, "first"),
        run("a", 1),
        until(4, "longer"),
        until(2, "again"),
        measured_elsewhere.clone(),
        run("a", 2),
    ] {
        store.put(run).unwrap();
    }
    drop(store);
    let store = Store::open(folder.path()).unwrap();
    let asked = run("a", 1).keys;
    let found: Vec<(Option<usize>, &str)> = store
        .runs_sharing(&asked)
        .into_iter()
        .map(|run| (run.keys.until, run.reason.as_str()))
        .collect();
    let expected = [
        (None, ""),
        (None, ""),
        (Some(4), "longer"),
        (Some(2), "again"),
    ];
    assert_eq!(found, expected);
    let wholes = store.runs_of("a").iter();
    let wholes = wholes.filter(|run| run.keys.share_facts(&asked));
    assert_eq!(wholes.count(), 2);
}

#[test]
fn a_whole_run_is_written_as_it_always_was() {
    let keys = run("a", 1).keys;
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
