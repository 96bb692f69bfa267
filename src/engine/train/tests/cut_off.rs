//! Runs that the parent process stops after an epoch.

use super::*;

fn asking(cell: CellSpec) -> Order<CellSpec> {
    Order {
        verdicts: true,
        ..order(cell)
    }
}

/// A run that is stopped after `epochs` epochs.
fn cut_off(cell: CellSpec, epochs: usize) -> Recorded {
    told_and_answered(asking(cell), |row| {
        if row.epoch + 1 == epochs {
            Reply::Stop
        } else {
            Reply::Continue
        }
    })
}

#[test]
fn a_run_that_is_stopped_has_the_facts_of_one_of_so_many_epochs() {
    let stopped = cut_off(with(|train| train.epochs = 5), 2);
    let short = told(with(|train| train.epochs = 2));
    assert_eq!(stopped.curves(), short.curves());
    // Only a run that is not stopped has test metrics.
    let mut expected = short.facts().clone();
    let is_tested = |name: &str| name.starts_with("test_") || name.starts_with("fresh_");
    expected.metrics.retain(|name, _| !is_tested(name));
    assert!(expected.best_loss.is_some() && expected.metrics.contains_key("val_loss"));
    assert_eq!(stopped.facts(), &expected);
}

#[test]
fn a_run_that_may_be_stopped_and_is_not_gives_the_same_facts() {
    let asked = told_and_answered(asking(cell()), |_| Reply::Continue);
    assert_eq!(asked.facts(), told(cell()).facts());
}

#[test]
fn a_run_that_is_stopped_keeps_its_last_weights_and_writes_no_checkpoint() {
    let folder = tempfile::tempdir().unwrap();
    let mut cell = with(|train| {
        train.epochs = 8;
        train.save_to = Some("last".into());
        // A learning rate so large that losses oscillate.
        train.optimizer = spec("kind = 'adam', lr = 0.5");
        train.early_stopping = Some(spec("restore-best = true"));
    });
    cell.checkpoint_folder = Some(folder.path().to_owned());
    // The run is stopped after the first epoch that is worse than the one before, to see that the last weights are
    // kept.
    let mut losses = Vec::new();
    for row in told(cell.clone()).epochs() {
        losses.push(row.validation["val_loss"].unwrap());
    }
    let worse = losses.windows(2).position(|pair| pair[1] > pair[0]);
    let epochs = worse.unwrap() + 2;
    std::fs::remove_file(folder.path().join("last-seed42.safetensors")).unwrap();
    let stopped = cut_off(cell.clone(), epochs);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    assert_eq!(stopped.facts().best_epoch, Some(epochs - 2));
    let train = Arc::make_mut(&mut cell.train);
    (train.epochs, train.early_stopping, train.save_to) = (epochs, None, None);
    assert_eq!(
        stopped.facts().weight_checksum,
        told(cell).facts().weight_checksum
    );
}

#[test]
fn waiting_for_an_answer_is_not_the_runs_time() {
    const WAIT: std::time::Duration = std::time::Duration::from_millis(50);
    let began = std::time::Instant::now();
    let asked = told_and_answered(asking(cell()), |_| {
        std::thread::sleep(WAIT);
        Reply::Continue
    });
    let whole_s = began.elapsed().as_secs_f64();
    let waited_s = 3.0 * WAIT.as_secs_f64();
    assert!(asked.finished().1.total_s < whole_s - waited_s);
}
