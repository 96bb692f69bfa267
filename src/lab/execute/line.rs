//! [`parse_event`]: parses a line of a worker's stdout as an event.

use crate::base::text::{escape_control, one_line};
use crate::event::{Event, PROTOCOL_VERSION};

/// Returns the event, or a sentence that says what is wrong with the line.
pub(super) fn parse_event(line: &[u8], has_said_hello: bool) -> Result<Event, String> {
    let mut event: Event = serde_json::from_slice(line).map_err(|_| {
        let text = String::from_utf8_lossy(line);
        let text: String = text.trim().chars().take(60).collect();
        format!("the worker wrote `{text}`, which is no event")
    })?;
    make_visible(&mut event);
    match event {
        Event::Hello { protocol, .. } if protocol != PROTOCOL_VERSION => Err(format!(
            "the worker speaks version {protocol}, this program {PROTOCOL_VERSION}"
        )),
        Event::Hello { .. } | Event::Alive => Ok(event),
        _ if !has_said_hello => Err("the worker did not begin with its version".into()),
        _ => Ok(event),
    }
}

/// Replaces control characters in the event's texts: they can come from a user's program or a data file, and are shown
/// on terminals, in CSV files and on HTML pages.
fn make_visible(event: &mut Event) {
    match event {
        Event::Warning { message: text }
        | Event::Failed { reason: text, .. }
        | Event::Assessing { what: text, .. } => *text = one_line(text),
        Event::Finished { facts, .. } => facts.diverged = facts.diverged.as_deref().map(one_line),
        Event::Sample(sample) => sample.caption = escape_control(&sample.caption).into_owned(),
        _ => {}
    }
}
