//! Users' templates are rendered by a process of their own: the engine bounds the steps of a template, but not its
//! memory (in a loop, `{% set ns.s = ns.s ~ ns.s %}` doubles a text each time), and a failed allocation aborts the
//! process.
//!
//! The parent calls [`render`], the child [`render_for_parent`]. The child first limits its own memory (on Linux; other
//! systems have no such limit); the parent limits the child's time and the size of the page.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use minijinja::Environment;
use minijinja::value::Value;

use super::{ReportError, template};
use crate::base::os;
use crate::base::units::{human_bytes, human_seconds};
use crate::diag::Failure;

/// Memory limit of the process that renders a page, in bytes: about fifty times the need of the longest report.
pub const RENDER_MEMORY_LIMIT: u64 = 1 << 30;

/// Largest size in bytes of the child's answer.
const LONGEST: u64 = 64 << 20;

/// Time limit for rendering a page.
const TIME: Duration = Duration::from_mins(1);

static PROGRAM: OnceLock<PathBuf> = OnceLock::new();

/// Makes reports render users' templates in a child process, `program render FOLDER NAME`; without this call, they are
/// rendered in this process.
pub fn set_render_program(program: PathBuf) {
    // Further calls have no effect; the program calls this once.
    let _ = PROGRAM.set(program);
}

/// Output of the child process: the page, or what is wrong with the template.
type Answer = Result<String, Failure>;

/// Renders a template as [`template::render`] does, with `engine` in this process, or, if the template may be a user's
/// (from `own`), in a child process.
pub(super) fn render(
    own: Option<&Path>,
    engine: &Environment<'_>,
    name: &str,
    context: &Value,
) -> Result<String, ReportError> {
    let (Some(folder), Some(program)) = (own, PROGRAM.get()) else {
        return template::render(engine, name, context);
    };
    let mut command = Command::new(program);
    command.arg("render").arg(folder).arg(name);
    // A context of strings, numbers and lists can always be serialized to JSON.
    let context = serde_json::to_vec(context).unwrap_or_default();
    let failure = match ask(command, context, TIME) {
        Ok(Ok(page)) => return Ok(page),
        Ok(Err(failure)) => failure,
        Err(reason) => Failure::without_source(format!("reports/templates/{name}: {reason}"), None),
    };
    let failure = failure.with_consequence("no report was written");
    Err(ReportError::Template(Box::new(failure)))
}

/// Renders the template `name` in `folder` with the context in `input`, and writes the page, or what is wrong with the
/// template. The caller has limited the memory of this process.
///
/// # Errors
/// A context that cannot be read; an answer that cannot be written.
pub fn render_for_parent(
    folder: &Path,
    name: &str,
    input: impl Read,
    mut output: impl Write,
) -> io::Result<()> {
    let context: Value = serde_json::from_reader(io::BufReader::new(input))?;
    let engine = template::engine(Some(folder.to_owned()));
    let page = template::render(&engine, name, &context);
    let answer: Answer = page.map_err(ReportError::into_failure);
    serde_json::to_writer(&mut output, &answer)?;
    output.flush()
}

/// The answer of a child, or a phrase that says why there is none.
fn ask(mut command: Command, context: Vec<u8>, time: Duration) -> Result<Answer, String> {
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let cannot = |error: io::Error| format!("cannot be rendered: {error}");
    let mut child = command.spawn().map_err(cannot)?;
    let said = listen(&mut child, context).recv_timeout(time);
    let is_cut = said.as_ref().is_ok_and(|said| said.len() as u64 > LONGEST);
    if said.is_err() || is_cut {
        let _ = child.kill();
    }
    let status = child.wait().map_err(cannot)?;
    let Ok(said) = said else {
        return Err(format!(
            "takes more than {}",
            human_seconds(time.as_secs_f64())
        ));
    };
    if is_cut {
        return Err(format!(
            "makes a page of more than {}",
            human_bytes(LONGEST)
        ));
    }
    serde_json::from_slice(&said).map_err(|_| end(status))
}

/// Sends the context, and reads the answer, in threads, so that a child that does not read or write cannot block this
/// process.
fn listen(child: &mut Child, context: Vec<u8>) -> mpsc::Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    thread::spawn(move || {
        // A failed write is ignored: the child has ended, and its exit status says why.
        stdin.map(|mut stdin| stdin.write_all(&context))
    });
    thread::spawn(move || {
        let mut said = Vec::new();
        if let Some(stdout) = stdout {
            let _ = stdout.take(LONGEST + 1).read_to_end(&mut said);
        }
        sender.send(said)
    });
    receiver
}

fn end(status: ExitStatus) -> String {
    // The child ends with this code only if memory runs out.
    if status.code() == Some(os::OUT_OF_MEMORY_EXIT_CODE) {
        return format!(
            "needs more than {} of memory",
            human_bytes(RENDER_MEMORY_LIMIT)
        );
    }
    format!("cannot be rendered: the process ended with {status}")
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::results::testing::assert_contains;

    fn asked(script: &str, time: Duration) -> Result<Answer, String> {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        ask(command, b"{}".to_vec(), time)
    }

    #[test]
    fn whatever_the_child_does_its_parent_has_a_sentence() {
        let long = Duration::from_hours(1);
        for (script, reason) in [
            ("exit 1", "needs more than 1.00 GiB of memory"),
            (
                "exit 70",
                "cannot be rendered: the process ended with exit status: 70",
            ),
            (
                "echo nonsense",
                "cannot be rendered: the process ended with exit status: 0",
            ),
            ("exec cat /dev/zero", "makes a page of more than 64.0 MiB"),
        ] {
            assert_eq!(asked(script, long).expect_err(script), reason);
        }
        let late = asked("exec sleep 86400", Duration::from_millis(50));
        assert_eq!(late.expect_err("it is killed"), "takes more than 50.0 ms");
    }

    #[test]
    fn a_page_and_a_mistake_come_back_as_they_were() {
        let folder = tempfile::tempdir().expect("a folder");
        let template = |name: &str, text: &str| {
            std::fs::write(folder.path().join(name), text).expect("a template");
        };
        template("good.md.j2", "{{ report.x }} {{ report.list|length }}");
        template("bad.md.j2", "{{ report.y }}");
        let said = |name: &str| -> Answer {
            let (mut out, context) = (Vec::new(), &br#"{"x": 0.1, "list": [1, 2]}"#[..]);
            render_for_parent(folder.path(), name, context, &mut out).expect("an answer");
            serde_json::from_slice(&out).expect("JSON")
        };
        assert_eq!(said("good.md.j2").expect("a page"), "0.1 2");
        let drawn = said("bad.md.j2").expect_err("a mistake").render(false);
        assert_contains(&drawn, "reports/templates/bad.md.j2:1:11");
    }
}
