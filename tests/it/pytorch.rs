//! The observer of PyTorch programs, with the real PyTorch where this machine has it: `python3`, or what `FIELDTRIAL_PYTHON` names.

use std::process::Command;
use std::sync::LazyLock;

use crate::project::{Project, assert_says};

/// The Python with PyTorch; `None`, with a sentence, where there is none.
pub(crate) fn python() -> Option<String> {
    // An import is seconds of processor time: once for all tests.
    static HAS_PYTORCH: LazyLock<bool> = LazyLock::new(|| {
        let import = ["-c", "import torch, numpy"];
        let found = Command::new(named_python()).args(import).output();
        found.is_ok_and(|output| output.status.success())
    });
    if !*HAS_PYTORCH {
        println!("skipped: `{}` has no PyTorch", named_python());
    }
    HAS_PYTORCH.then(named_python)
}

fn named_python() -> String {
    std::env::var("FIELDTRIAL_PYTHON").unwrap_or_else(|_| "python3".to_owned())
}

/// Trains a small network on random data; `{…}` are replaced by a test.
const SCRIPT: &str = r#"
import hashlib, sys, time, types
import torch
from torch import nn
import torch.nn.functional as F

{dynamo}

torch.manual_seed(0)
torch.set_num_threads(1)

class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 256
    def __getitem__(self, place):
        {data}
        generator = torch.Generator().manual_seed(place)
        return torch.randn(64, generator=generator), place % 4

class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(64, 128), nn.Linear(128, 4)
    def forward(self, batch):
        {forward}
        return self.second(F.relu(self.first(batch)))

def main():
    model = Network()
    {model}
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    loader = torch.utils.data.DataLoader(Data(), batch_size=8, shuffle=True, num_workers={workers}{loader})
    losses = []
    for epoch in range(3):
        model.train()
        for number, (batch, labels) in enumerate(loader):
            {step}
        model.eval()
        with torch.no_grad():
            for batch, labels in loader:
                model(batch)
    digest = hashlib.sha256()
    for value in model.state_dict().values():
        digest.update(value.numpy().tobytes())
    print("result", repr(losses), digest.hexdigest())

if __name__ == "__main__":
    {main}
"#;

const PLAIN: &str = "loss = F.cross_entropy(model(batch), labels)
            optimizer.zero_grad(); loss.backward(); optimizer.step(); losses.append(loss.item())";

/// A stub of `torch._dynamo`: creating an optimizer imports that module, which takes as long as importing PyTorch itself,
/// but only `torch.compile` needs it.
const NO_DYNAMO: &str = "def unchanged(function, *_, **__): return function
counters = types.SimpleNamespace(counters={'stats': {}})
torch._dynamo = types.SimpleNamespace(disable=unchanged, graph_break=lambda: None, utils=counters)
sys.modules['torch._dynamo'] = torch._dynamo";

/// The script with some of its places filled.
fn script(filled: &[(&str, &str)]) -> String {
    let usual = [
        ("dynamo", NO_DYNAMO),
        ("data", "pass"),
        ("forward", "pass"),
        ("model", "pass"),
        ("workers", "0"),
        ("loader", ""),
        ("step", PLAIN),
        ("main", "main()"),
    ];
    let all = filled.iter().chain(&usual);
    all.fold(SCRIPT.to_owned(), |text, (name, value)| {
        text.replace(&format!("{{{name}}}"), value)
    })
}

/// A project whose command is the script; observed, or not.
pub(crate) fn project_of(python: &str, text: &str, observe: &str) -> Project {
    let manifest = format!(
        "name = \"mine\"\n[models.mine]\nkind = \"command\"\nrun = [\"{python}\", \"train.py\"]\ncode = [\"train.py\"]\n{observe}\n\
         [measure]\nops = true\nphase-steps = 3\n"
    );
    Project::new()
        .file("experiments/train.py", text)
        .file("experiments/mine.toml", &manifest)
}

/// The row of `blocks.csv`, and the line that begins with `result`.
pub(crate) fn ran(project: &Project) -> (std::collections::BTreeMap<String, String>, String) {
    project.ends(0, "run experiments/mine.toml --no-report");
    let logs = std::fs::read_dir(project.path("reports/mine/logs")).expect("logs");
    let log = logs.flatten().next().expect("a log").path();
    let printed = std::fs::read_to_string(log).expect("text");
    let result = printed.lines().find(|line| line.starts_with("result"));
    let row = project.rows_of("mine", "blocks.csv").remove(0);
    (row, result.expect("a result").to_owned())
}

pub(crate) const OBSERVE: &str = "observe = \"pytorch\"";

pub(crate) fn number(row: &std::collections::BTreeMap<String, String>, column: &str) -> f64 {
    row[column]
        .parse()
        .unwrap_or_else(|_| panic!("{column}: {row:?}"))
}

/// What scripts print after `result` when nothing observes them: each in a fork of one process, which imports PyTorch once.
fn unobserved(python: &str, scripts: &[String]) -> Vec<String> {
    let forks = "import os, runpy, sys, torch
for path in sys.argv[1:]:
    child = os.fork()
    if child == 0:
        runpy.run_path(path, run_name='__main__')
        sys.exit()
    if os.waitpid(child, 0)[1] != 0:
        sys.exit(path)
";
    let project = Project::new();
    let names = (0..scripts.len()).map(|number| format!("{number}.py"));
    let names: Vec<String> = names.collect();
    for (name, script) in names.iter().zip(scripts) {
        project.write(name, script);
    }
    let ended = Command::new(python)
        .args(["-c", forks])
        .args(&names)
        .current_dir(project.path(""))
        .output()
        .expect("Python");
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "{said}");
    let printed = String::from_utf8(ended.stdout).expect("text");
    let results = printed.lines().filter(|line| line.starts_with("result"));
    results.map(str::to_owned).collect()
}

// Steps of a training loop in several forms; RANKS starts one process for each rank, as torchrun does, and only rank 0 is observed.
const ACCUMULATING: &str = "loss = F.cross_entropy(model(batch), labels) / 4
            loss.backward(); losses.append(loss.item())
            if number % 4 == 3: optimizer.step(); optimizer.zero_grad()";
const SCALED: &str = "scaler = torch.amp.GradScaler('cpu', init_scale=2.0**10)
            loss = F.cross_entropy(model(batch), labels) * (1e37 if number == 20 else 1); optimizer.zero_grad()
            scaler.scale(loss).backward(); scaler.step(optimizer); scaler.update(); losses.append(loss.item())";
const TWO: &str = "loss = F.cross_entropy(model(batch), labels); optimizer.zero_grad(); loss.backward(); optimizer.step()
            other.zero_grad(); loss = F.cross_entropy(model(batch), labels); loss.backward(); other.step(); losses.append(loss.item())";
const RANKS: &str = "import os, subprocess
    if 'RANK' in os.environ:
        main()
    else:
        def start(rank):
            output = None if rank == 0 else subprocess.DEVNULL
            return subprocess.Popen([sys.executable, __file__], env={**os.environ, 'RANK': str(rank)}, stdout=output)
        sys.exit(sum(started.wait() for started in [start(1), start(0)]))";

/// Steps that each form has in three epochs, with what a step is; of the other forms each goes with one of these.
#[test]
fn results_are_the_same_bits_observed_or_not() {
    let Some(python) = python() else { return };
    let closure = "
            def closure():
                optimizer.zero_grad(); loss = F.cross_entropy(model(batch), labels); loss.backward(); return loss
            losses.append(optimizer.step(closure).item())";
    let several = closure.replace("optimizer.step(closure)", "lbfgs.step(closure)");
    let several = &*several;
    let lbfgs = "lbfgs = torch.optim.LBFGS(model.parameters(), lr=0.1, max_iter=3)";
    let in_a_thread =
        "import threading; one = threading.Thread(target=main); one.start(); one.join()";
    let second = "other = torch.optim.Adam(model.parameters(), 1e-3)";
    let persistent = ", persistent_workers=True";
    let spawned = ", multiprocessing_context='spawn', persistent_workers=True";
    let workers = ("workers", "2");
    let forms = [
        ("plain", &[][..], 96),
        ("accumulation, fork", &[("step", ACCUMULATING), workers], 24),
        (
            "closure, persistent workers",
            &[("step", closure), workers, ("loader", persistent)],
            96,
        ),
        (
            "LBFGS, thread",
            &[("step", several), ("model", lbfgs), ("main", in_a_thread)],
            96,
        ),
        (
            "scaler, spawn",
            &[("step", SCALED), workers, ("loader", spawned)],
            96,
        ),
        (
            "two optimizers, ranks",
            &[("step", TWO), ("model", second), ("main", RANKS)],
            96,
        ),
    ];
    let scripts = forms.map(|(_, filled, _)| script(filled));
    let plain = unobserved(&python, &scripts);
    assert_eq!(plain.len(), forms.len());
    for (((name, _, steps), text), plain) in forms.into_iter().zip(&scripts).zip(&plain) {
        let observed = project_of(&python, text, OBSERVE);
        let (row, seen) = ran(&observed);
        assert_eq!(*plain, seen, "{name}");
        let facts = observed.rows_of("mine", "runs.csv").remove(0);
        assert_eq!(facts["steps"], steps.to_string(), "{name}: {facts:?}");
        assert_eq!(facts["samples"], (3 * 256).to_string(), "{name}");
        assert_eq!(
            facts["parameters"],
            (64 * 128 + 128 + 128 * 4 + 4).to_string()
        );
        assert!(number(&row, "forward_ms") > 0.0, "{name}: {row:?}");
    }
}

/// Time that a program sleeps in a phase, of each phase another, is found there, and the phases sum to the step.
#[test]
fn planted_time_is_found_in_its_phase() {
    let Some(python) = python() else { return };
    // Of the optimizer, half is what PyTorch does around the step of every optimizer.
    let hook_and_update = "model.second.weight.register_hook(lambda gradient: time.sleep(0.015))
    update, record = torch.optim.SGD.step, torch.autograd.profiler.record_function
    def slow(self, *arguments): time.sleep(0.01); return update(self, *arguments)
    torch.optim.SGD.step = slow
    def slow(name, *arguments): time.sleep(0.01 if 'Optimizer.step' in name else 0); return record(name, *arguments)
    torch.autograd.profiler.record_function = slow";
    let in_all = [
        ("data", "time.sleep(0.000625)"),
        ("forward", "time.sleep(0.01)"),
        ("model", hook_and_update),
    ];
    let by_workers = [("data", "time.sleep(0.005)"), ("workers", "2")];
    let expected = [
        ("data_wait", 5.0),
        ("forward", 10.0),
        ("backward", 15.0),
        ("optimizer", 20.0),
    ];
    for (filled, phases) in [(&in_all[..], &expected[..]), (&by_workers, &expected[..1])] {
        let (row, _) = ran(&project_of(&python, &script(filled), OBSERVE));
        for (phase, least) in phases {
            let own = number(&row, &format!("{phase}_ms"));
            assert!(own >= *least, "{phase}: {row:?}");
        }
        let step = number(&row, "step_mean_ms");
        let all = ["data_wait", "forward", "backward", "optimizer", "other"];
        let sum: f64 = all
            .iter()
            .map(|name| number(&row, &format!("{name}_ms")))
            .sum();
        assert!((sum - step).abs() < 1e-3 * step, "{row:?}");
    }
}

#[test]
fn operations_have_layers_and_exact_flops() {
    let Some(python) = python() else { return };
    let observed = project_of(&python, &script(&[]), OBSERVE);
    ran(&observed);
    let rows = observed.rows_of("mine", "ops.csv");
    let flops = |layer: &str, column: &str| -> f64 {
        let own = rows.iter().filter(|row| row["layer"] == layer);
        own.map(|row| row[column].parse().unwrap_or(0.0)).sum()
    };
    // Multiplications and additions of 8 samples; the first layer's input needs no gradient.
    let (first, second) = (f64::from(2 * 8 * 64 * 128), f64::from(2 * 8 * 128 * 4));
    for (layer, column, expected) in [
        ("first", "flops_forward", first),
        ("first", "flops_backward", first),
        ("second", "flops_forward", second),
        ("second", "flops_backward", 2.0 * second),
    ] {
        let found = flops(layer, column);
        assert!(
            (found - expected).abs() < 0.5,
            "{layer} {column}: {found}, {rows:?}"
        );
    }
    let facts = observed.rows_of("mine", "runs.csv").remove(0);
    assert_eq!(
        facts["flops_forward_per_sample"],
        ((first + second) / 8.0).to_string()
    );
}

/// No dispatch mode may begin or end in inference mode, where an evaluation after each step ends that step.
#[test]
fn an_evaluation_in_inference_mode_after_each_step_is_no_matter() {
    let Some(python) = python() else { return };
    let step = format!(
        "{PLAIN}
            with torch.inference_mode():
                model.eval(); [model(batch) for batch, _ in loader]; model.train()"
    );
    let observed = project_of(&python, &script(&[("step", &step)]), OBSERVE);
    ran(&observed);
    let facts = observed.rows_of("mine", "runs.csv").remove(0);
    let flops = f64::from(2 * (64 * 128 + 128 * 4));
    assert_eq!(facts["flops_forward_per_sample"], flops.to_string());
}

/// `with fieldtrial.phase(…)` names a part of a step; where nobody observes operations it does nothing.
#[test]
fn a_named_part_of_a_step_is_a_layer() {
    let Some(python) = python() else { return };
    let part = "import fieldtrial
        with fieldtrial.phase('scaled'): time.sleep(0.002); batch = 2 * batch";
    let named = script(&[("forward", part)]);
    let helper = include_str!("../../src/cli/helper/fieldtrial.py");
    let [observed, plain] = [OBSERVE, ""].map(|observe| {
        project_of(&python, &named, observe).file("experiments/fieldtrial.py", helper)
    });
    let (_, result) = ran(&observed);
    assert_eq!(result, ran(&plain).1);
    let rows = observed.rows_of("mine", "ops.csv");
    let row = |op: &str| {
        let mut own = rows
            .iter()
            .filter(|row| row["layer"] == "scaled" && row["op"] == op);
        own.next().unwrap_or_else(|| panic!("{op}: {rows:?}"))
    };
    assert_eq!(row("mul")["calls"], "3");
    let rest = row("python");
    assert_eq!((&*rest["calls"], &*rest["phase"]), ("3", "forward"));
    assert!(number(rest, "forward_ms") >= 2.0, "{rest:?}");
    let trace = std::fs::read_dir(observed.path("reports/mine/trace")).expect("traces");
    let trace = trace.flatten().next().expect("a trace").path();
    let trace = std::fs::read_to_string(trace).expect("text");
    for name in ["\"scaled\"", "\"mm backward\"", "\"optimizer\"", "\"step\""] {
        assert!(trace.contains(name), "{name}: {trace}");
    }
}

#[test]
fn an_error_of_the_observer_ends_it_and_not_the_program() {
    let Some(python) = python() else { return };
    for hook in [
        "begins",
        "ends",
        "fetch_begins",
        "fetch_ends",
        "update_begins",
        "update_ends",
        "_finish_step",
    ] {
        // In the script, since the observer is part of the program.
        let broken = format!(
            "import fieldtrial_steps; calls = [0]; was = fieldtrial_steps.Steps.{hook}
    def broken(self, *arguments):
        calls[0] += 1
        if calls[0] == 30: raise ValueError('planted')
        return was(self, *arguments)
    fieldtrial_steps.Steps.{hook} = broken"
        );
        let text = script(&[("model", &broken)]);
        let observed = project_of(&python, &text, OBSERVE);
        let ended = observed.run(&["run", "experiments/mine.toml", "--no-report"]);
        let said = ended.stderr;
        assert_eq!(ended.code, 0, "{hook}: {said}");
        assert_eq!(
            said.matches("the observer of PyTorch stopped").count(),
            1,
            "{hook}: {said}"
        );
    }
}

/// PyTorch 2.0 has no `register_optimizer_step_post_hook`: only the program's total time is measured, and one warning says why.
#[test]
fn without_a_hook_of_pytorch_nothing_is_guessed() {
    let Some(python) = python() else { return };
    let old = "import fieldtrial_observe
original = fieldtrial_observe.Observer.hook_optimizers
def hook_optimizers(self, torch):
    del sys.modules['torch.optim.optimizer'].register_optimizer_step_post_hook
    original(self, torch)
fieldtrial_observe.Observer.hook_optimizers = hook_optimizers
import torch
";
    let text = script(&[]).replacen("import torch\n", old, 1);
    let observed = project_of(&python, &text, OBSERVE);
    let ended = observed.run(&["run", "experiments/mine.toml", "--no-report"]);
    let said = ended.stderr;
    assert_eq!(ended.code, 0, "{said}");
    // Long lines are wrapped.
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    let reason = "not observed: optimizers: this PyTorch has no `register_optimizer_step_post_hook` (2.1 or newer has)";
    assert_eq!(said.matches(reason).count(), 1, "{said}");
    let row = observed.rows_of("mine", "blocks.csv").remove(0);
    for column in ["step_ms", "samples_per_s", "forward_ms", "backward_ms"] {
        assert_eq!(row[column], "", "{column}");
    }
}

#[test]
fn a_compiled_module_has_the_same_graphs() {
    let Some(python) = python() else { return };
    let compiled = "model = torch.compile(model, backend='eager')";
    let text = script(&[("dynamo", ""), ("model", compiled)]).replace(
        "print(\"result\"",
        "from torch._dynamo.utils import counters
    print(\"result\", dict(counters['stats']), dict(counters['graph_break'])",
    );
    let (_, plain) = ran(&project_of(&python, &text, ""));
    let (_, seen) = ran(&project_of(&python, &text, OBSERVE));
    assert_eq!(plain, seen);
}

#[test]
fn a_program_of_few_steps_says_why_it_has_no_flops() {
    let Some(python) = python() else { return };
    let text = script(&[]).replace("range(3)", "range(1)");
    let observed = project_of(&python, &text.replace("return 256", "return 64"), OBSERVE);
    let ended = observed.run(&["run", "experiments/mine.toml", "--no-report"]);
    let said = ended.stderr.split_whitespace().collect::<Vec<_>>();
    let reason = "the program ended after 8 steps; they are those of step 13";
    assert!(said.join(" ").contains(reason), "{}", ended.stderr);
    let facts = observed.rows_of("mine", "runs.csv").remove(0);
    assert_eq!(
        (&*facts["steps"], &*facts["flops_forward_per_sample"]),
        ("8", "")
    );
}

/// Without PyTorch nothing is observed, and nothing is wrong.
#[test]
fn a_program_without_pytorch_is_timed_as_a_whole() {
    let python = Command::new("python3").arg("--version").output();
    if !python.is_ok_and(|output| output.status.success()) {
        println!("skipped: no `python3`");
        return;
    }
    let observed = project_of("python3", "print('result', 1)\n", OBSERVE);
    let (row, _) = ran(&observed);
    assert_eq!((&*row["step_ms"], &*row["status"]), ("", "done"));
    assert!(number(&row, "total_s") > 0.0);
}

/// The logic of steps, by a fed clock.
#[test]
fn steps_are_what_the_documentation_says() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/");
    let output = Command::new("python3")
        .arg("-B")
        .arg(format!("{root}tests/it/steps.py"))
        .arg(format!("{root}src/engine/program/observe"))
        .output();
    let Ok(output) = output else {
        println!("skipped: no `python3`");
        return;
    };
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
}

/// A setting is recommended where the program is given it, and not where it would change nothing.
#[test]
fn workers_are_recommended_to_a_program_that_waits_and_is_given_their_number() {
    // Of its 10 ms a step it waits 8, with workers none.
    let script = r#"
if [ "$1" = 0 ]; then ms=10.0; wait=8.0; else ms=2.0; wait=0.0; fi
echo "{\"event\": \"steps\", \"ms\": [$ms, $ms, $ms, $ms], \"samples\": [4, 4, 4, 4]}" >> $FIELDTRIAL_EVENTS
echo "{\"event\": \"phases\", \"steps\": 4, \"step_ms\": $ms, \"ms\": {\"data_wait\": $wait, \"forward\": 2.0}}" >> $FIELDTRIAL_EVENTS
"#;
    for (word, is_given) in [("{loader.workers}", true), ("0", false)] {
        let manifest = format!(
            "name = \"mine\"\n[models.mine]\nkind = \"command\"\nrun = [\"sh\", \"a.sh\", \"{word}\"]\ncode = [\"a.sh\"]\n\
             [measure]\nrepeats = 3\n"
        );
        let project = Project::new()
            .file("experiments/a.sh", script)
            .file("experiments/mine.toml", &manifest);
        project.ends(0, "run experiments/mine.toml");
        let path = project.path("reports/mine/recommendations.csv");
        let recommended = std::fs::read_to_string(path).unwrap_or_default();
        assert_eq!(
            recommended.contains("loader.workers,0,"),
            is_given,
            "{recommended}"
        );
        assert!(!recommended.contains("train.batch-size"), "{recommended}");
        if is_given {
            // It lies in the folder of the results, and runs the same program.
            project.ends(0, "run reports/mine/next.toml");
            let path = project.path("reports/mine-next/report.md");
            let page = std::fs::read_to_string(path).expect("a page");
            let said = "loader.workers = 2 instead of 0: confirmed";
            assert!(page.contains(said), "{page}");
        }
    }
}

/// Events that any program may write, without Python.
/// What PyTorch can do faster is recommended where a parameter turns it on, and not where it was measured or needs a GPU.
#[test]
fn what_a_parameter_turns_on_is_recommended_by_its_role() {
    let script = r#"
if [ "$1" = --compile ]; then ms=4.0; else ms=8.0; fi
echo "{\"event\": \"steps\", \"ms\": [$ms, $ms, $ms, $ms], \"samples\": [4, 4, 4, 4]}" >> $FIELDTRIAL_EVENTS
echo "{\"event\": \"phases\", \"steps\": 4, \"step_ms\": $ms, \"ms\": {\"forward\": $ms}}" >> $FIELDTRIAL_EVENTS
"#;
    let manifest = "name = \"mine\"\n[models.mine]\nkind = \"command\"\nrun = [\"sh\", \"a.sh\", \"{fast}\", \"{mixed}\"]\n\
                    code = [\"a.sh\"]\nroles = { compile = \"fast\", amp = \"mixed\" }\n\
                    [models.mine.parameters]\nfast = { bool = true, default = false, flag = \"--compile\" }\n\
                    mixed = { bool = true, default = false, flag = \"--amp\" }\n[measure]\nrepeats = 3\n";
    let project = Project::new()
        .file("experiments/a.sh", script)
        .file("experiments/mine.toml", manifest);
    for path in ["experiments/mine.toml", "reports/mine/next.toml"] {
        project.ends_with(0, &["run", path]);
    }
    let rules = |name: &str| -> Vec<[String; 2]> {
        let rows = project.rows_of(name, "recommendations.csv").into_iter();
        let rows = rows.map(|row| ["setting", "verdict"].map(|column| row[column].clone()));
        rows.collect()
    };
    let setting = "models.mine.fast".to_owned();
    assert_eq!(rules("mine"), [[setting.clone(), String::new()]]);
    assert_eq!(rules("mine-next"), [[setting, "confirmed".to_owned()]]);
    let wrong = manifest.replace("amp = \"mixed\"", "amp = \"mixd\"");
    let ended = project
        .file("experiments/mine.toml", &wrong)
        .run(&["plan", "experiments/mine.toml"]);
    assert_eq!(ended.code, 2, "{}", ended.stderr);
    assert_says(&ended.stderr, "`mixd` is no parameter");
    assert_says(&ended.stderr, "did you mean `mixed`");
}

#[test]
fn a_program_of_any_language_tells_its_steps() {
    let events = [
        r#"{"event": "steps", "ms": [90.0, 10.0, 12.0, 14.0], "samples": [4, 4, 4, 4], "startup": 1}"#,
        r#"{"event": "phases", "steps": 3, "step_ms": 12.0, "ms": {"data_wait": 6.0, "forward": 2.0}}"#,
        r#"{"event": "phases", "startup_s": 0.5, "train_s": 0.126}"#,
        r#"{"event": "operations", "steps": 1, "samples": 4, "step_ms": 12.0, "rows": [{"layer": "a", "op": "linear", "phase": "forward", "calls": 1, "forward_ms": 2.0, "flops_forward": 80}], "spans": [["ops", "linear", "a", 0, 2000]]}"#,
        r#"{"event": "memory", "peak_train_bytes": 1048576, "source": "mine"}"#,
    ];
    let lines = events.map(|event| format!("echo '{event}' >> $FIELDTRIAL_EVENTS\n"));
    let project = Project::new()
        .file("experiments/a.sh", &lines.concat())
        .file("experiments/mine.toml", "name = \"mine\"\n[models.mine]\nkind = \"command\"\nrun = [\"sh\", \"a.sh\"]\ncode = [\"a.sh\"]\n[measure]\nops = true\n[report]\ntemplates = [\"analysis\", \"profiling\"]\n");
    project.ends(0, "run experiments/mine.toml");
    let row = project.rows_of("mine", "blocks.csv").remove(0);
    for (column, value) in [
        ("warmup_steps", "1"),
        ("measured_steps", "3"),
        ("step_ms", "12"),
        ("data_wait_ms", "6"),
        ("other_ms", "4"),
        ("startup_s", "0.5"),
        ("peak_device_bytes", "1048576"),
        ("backward_ms", ""),
    ] {
        assert_eq!(row[column], value, "{column}");
    }
    let facts = project.rows_of("mine", "runs.csv").remove(0);
    assert_eq!(
        (&*facts["steps"], &*facts["flops_forward_per_sample"]),
        ("4", "20")
    );
    let trace = std::fs::read_dir(project.path("reports/mine/trace")).expect("traces");
    let trace = std::fs::read_to_string(trace.flatten().next().expect("a trace").path());
    assert!(trace.expect("text").contains("\"linear\""));
    let operations = project.rows_of("mine", "ops.csv");
    assert!(
        operations
            .iter()
            .any(|row| row["layer"] == "a" && row["op"] == "linear")
    );
    let page = project.read("reports/mine/report.md");
    assert!(page.contains("data wait"), "{page}");
    let page = project.read("reports/mine/report-profiling.md");
    assert!(
        page.contains("Profiled in 1 step of a first-block run"),
        "{page}"
    );
}
