//! Event files read back by an independent reader of records and protocol buffers.

use super::*;
use crate::event::PhaseTimes;

/// Scalars of an event: time, step, then tag and value.
type Event = (f64, u64, Vec<(String, f32)>);

/// A field of a message: its number, and its value as bytes or integer.
enum Value<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

fn varint(data: &mut &[u8]) -> u64 {
    let (mut value, mut shift) = (0, 0);
    loop {
        let byte = data[0];
        *data = &data[1..];
        value |= u64::from(byte & 0x7f) << shift;
        shift += 7;
        if byte < 0x80 {
            return value;
        }
    }
}

fn fields(mut data: &[u8]) -> Vec<(u64, Value<'_>)> {
    let mut found = Vec::new();
    while !data.is_empty() {
        let key = varint(&mut data);
        let length = match key & 7 {
            0 => {
                found.push((key >> 3, Value::Number(varint(&mut data))));
                continue;
            }
            1 => 8,
            2 => varint(&mut data) as usize,
            5 => 4,
            other => panic!("wire type {other}"),
        };
        found.push((key >> 3, Value::Bytes(&data[..length])));
        data = &data[length..];
    }
    found
}

fn bytes<'a>(message: &[(u64, Value<'a>)], field: u64) -> Vec<&'a [u8]> {
    let values = message.iter().filter(|(number, _)| *number == field);
    values
        .map(|(_, value)| match value {
            Value::Bytes(bytes) => *bytes,
            Value::Number(_) => panic!("field {field} is a number"),
        })
        .collect()
}

fn event(data: &[u8]) -> Event {
    let event = fields(data);
    let seconds = f64::from_le_bytes(bytes(&event, 1)[0].try_into().unwrap());
    let step = event.iter().find_map(|(number, value)| match value {
        Value::Number(step) if *number == 2 => Some(*step),
        _ => None,
    });
    let summaries = bytes(&event, 5);
    let scalars = summaries
        .iter()
        .flat_map(|summary| bytes(&fields(summary), 1));
    let scalars = scalars.map(|scalar| {
        let scalar = fields(scalar);
        let tag = String::from_utf8(bytes(&scalar, 1)[0].to_vec()).unwrap();
        (
            tag,
            f32::from_le_bytes(bytes(&scalar, 2)[0].try_into().unwrap()),
        )
    });
    (seconds, step.unwrap_or(0), scalars.collect())
}

/// Every record, its checksums computed bit by bit.
fn events(mut file: &[u8]) -> Vec<Event> {
    let mut found = Vec::new();
    while !file.is_empty() {
        let length = u64::from_le_bytes(file[..8].try_into().unwrap()) as usize;
        assert_eq!(file[8..12], checksum(&file[..8]), "of a length");
        let data = &file[12..12 + length];
        assert_eq!(
            file[12 + length..16 + length],
            checksum(data),
            "of an event"
        );
        found.push(event(data));
        file = &file[16 + length..];
    }
    found
}

fn checksum(data: &[u8]) -> [u8; 4] {
    let mut crc = u32::MAX;
    for bit in data
        .iter()
        .flat_map(|byte| (0..8).map(move |bit| byte >> bit & 1))
    {
        let feedback = (crc ^ u32::from(bit)) & 1;
        crc = crc >> 1 ^ if feedback == 1 { 0x82f6_3b78 } else { 0 };
    }
    let crc = !crc;
    crc.rotate_right(15).wrapping_add(0xa282_ead8).to_le_bytes()
}

fn epoch(epoch: usize, train_loss: f64) -> EpochRow {
    EpochRow {
        epoch,
        train_loss: Some(train_loss),
        validation: [
            ("val_loss".to_owned(), Some(0.5)),
            ("val_r2".to_owned(), None),
        ]
        .into(),
        lr: Some(0.25),
        steps: Vec::new(),
    }
}

fn written() -> Vec<Event> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(event_file("model=mlp", 42, 1));
    let step = |loss| StepRow {
        loss,
        step_ms: 500.0,
    };
    let times = RunTimes {
        startup_s: 1.0,
        samples_per_s: 16.0,
        phases: PhaseTimes {
            forward_ms: 3.5,
            ..PhaseTimes::default()
        },
        ..RunTimes::default()
    };
    let run = RunScalars {
        epochs: &[epoch(0, 0.75), epoch(1, 0.125)],
        steps: &[vec![step(Some(1.0)), step(None)], vec![step(Some(0.125))]],
        facts: None,
        times: Some(&times),
    };
    write_events(&path, run).unwrap();
    events(&fs::read(path).unwrap())
}

#[test]
fn every_value_stands_at_its_step_and_time() {
    let found = written();
    let of = |tag: &str| -> Vec<(f64, u64, f32)> {
        let events = found.iter().filter_map(|(seconds, step, scalars)| {
            let (_, value) = scalars.iter().find(|(own, _)| own == tag)?;
            Some((*seconds, *step, *value))
        });
        events.collect()
    };
    assert_eq!(
        of("loss/step"),
        [(1.5, 0, 1.0), (2.5, 2, 0.125)],
        "a loss that is no number is left out"
    );
    assert_eq!(of("loss/epoch"), [(2.0, 1, 0.75), (2.5, 2, 0.125)]);
    assert_eq!(of("validation/val_loss"), [(2.0, 1, 0.5), (2.5, 2, 0.5)]);
    assert_eq!(of("learning-rate").len(), 2);
    assert_eq!(of("throughput/samples_per_s"), [(2.5, 2, 16.0)]);
    assert_eq!(of("phases/forward_ms"), [(2.5, 2, 3.5)]);
    assert!(of("validation/val_r2").is_empty());
}

#[test]
fn files_of_runs_that_are_gone_are_removed_and_others_are_not_touched() {
    let folder = tempfile::tempdir().unwrap();
    let files = [
        event_file("a", 1, 0),
        event_file("a", 1, 1),
        event_file("b", 1, 0),
    ];
    let none = RunScalars {
        epochs: &[],
        steps: &[],
        facts: None,
        times: None,
    };
    for file in &files {
        write_events(&folder.path().join(file), none).unwrap();
    }
    let note = folder.path().join("tensorboard/mine.txt");
    fs::write(&note, "x").unwrap();
    remove_other_events(folder.path(), &files[..1]);
    let is_there = |file: &PathBuf| folder.path().join(file).exists();
    assert_eq!(files.each_ref().map(is_there), [true, false, false]);
    assert!(note.exists() && !folder.path().join("tensorboard/b").exists());
}
