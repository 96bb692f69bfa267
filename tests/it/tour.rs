//! A new user's first hour, by the program alone: a PyTorch script, and a table.

use std::path::Path;
use std::{env, fs, iter};

use crate::project::{Project, assert_says, fieldtrial};
use crate::pytorch::python;
use crate::tables::table;

/// A loop that waits for its data: 16 times 2 ms a step, on any machine more than it computes.
const SCRIPT: &str = r#"
import argparse, time
import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--batch-size", type=int, default=16)
parser.add_argument("--num-workers", type=int, default=0)
args = parser.parse_args()

class Numbers(torch.utils.data.Dataset):
    def __len__(self):
        return 256
    def __getitem__(self, place):
        time.sleep(2e-3)
        features = torch.randn(8, generator=torch.Generator().manual_seed(place))
        return features, features.sum()

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
data = torch.utils.data.DataLoader(Numbers(), args.batch_size, shuffle=True, num_workers=args.num_workers)
total = 0.0
for features, target in data:
    loss = nn.functional.mse_loss(model(features).squeeze(1), target)
    optimizer.zero_grad(); loss.backward(); optimizer.step()
    total += loss.item()
print(f"train_loss={total / len(data):.4f}")
"#;

/// The text of a page's answer.
fn answer(project: &Project, name: &str) -> String {
    let page = project.read(&format!("reports/{name}/report.md"));
    let answer = page.split("## Answer").nth(1).expect("an answer");
    answer.split("\n## ").next().unwrap_or_default().to_owned()
}

#[test]
fn a_pytorch_script_is_measured_advised_on_and_compared() {
    let Some(python) = python() else { return };
    let project = Project::new().file("train.py", SCRIPT);
    // As with a virtual environment that is switched on: `python3` is the Python with PyTorch.
    let folder = Path::new(&python).parent().expect("a file");
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = iter::once(folder.to_owned()).chain(env::split_paths(&path));
    let mut new = fieldtrial();
    new.args(["new", "mine", "--script", "train.py"])
        .current_dir(project.path(""))
        .env("PATH", env::join_paths(folders).expect("folders"));
    let ended = new.output().expect("the program");
    assert!(
        ended.status.success(),
        "{}",
        String::from_utf8_lossy(&ended.stderr)
    );
    // What a user would do who has little time: one cell, one run.
    let manifest = project.read("mine.toml");
    assert_says(&manifest, "observe = \"pytorch\"");
    let manifest = manifest
        .replace("\"python3\"", &format!("\"{python}\""))
        .replace("\"loader.workers\" = [0, 2]", "\"loader.workers\" = [0]")
        .replace(
            "\"train.batch-size\" = [16, 32]",
            "\"train.batch-size\" = [16]",
        )
        .replace("repeats = 6 ", "repeats = 1 ");
    let project = project.file("mine.toml", &manifest);
    project.ends(0, "run mine.toml");
    assert_says(
        answer(&project, "mine"),
        "The largest part of a step is data wait, ",
    );
    assert_says(
        project.read("reports/mine/report.md"),
        "**loader.workers = 2 instead of 0**",
    );
    project.ends(0, "plan reports/mine/next.toml");
    let mended = manifest.replace("name = \"mine\"", "name = \"mended\"");
    project.commit("slow");
    let project = project
        .file("train.py", &SCRIPT.replace("time.sleep(2e-3)", "pass"))
        .file("mended.toml", &mended);
    project.ends(0, "run mended.toml --no-report");
    let compared = project.ends(0, "compare mine mended").stdout;
    let row = compared
        .lines()
        .find(|line| line.contains("loader.workers 0"));
    let ratio = row.and_then(|row| {
        row.split_whitespace()
            .find_map(|word| word.strip_suffix('×'))
    });
    let ratio: f64 = ratio.and_then(|ratio| ratio.parse().ok()).expect(&compared);
    assert!(ratio < 0.9, "{compared}");
    assert_says(&compared, "too few runs");
    // The same question without numbers of another day: the commit and the working tree in turns.
    let turns = project.ends(0, "ab HEAD mine.toml --repeats 1").stdout;
    assert_says(&turns, "HEAD at ");
    assert_says(
        &turns,
        "Runs of both sides were made in one session, in pairs",
    );
}

#[test]
fn a_table_is_trained_on_used_for_predictions_and_exported() {
    let houses = table("district,area,rooms,price", 120, |row, random| {
        let area = 40.0 + 160.0 * random.next();
        let known = if row % 9 == 4 {
            String::new()
        } else {
            format!("{area:.1}")
        };
        let district = random.one_of(&["north", "south", "harbour"]);
        format!("{district},{known},{},{:.0}", row % 5 + 1, area * 2000.0)
    });
    let project = Project::new().file("houses.csv", &houses);
    project.ends(0, "new houses --data houses.csv");
    let few = ["--set", "train.epochs=5", "--set", "measure.seeds=[1, 2]"];
    project.ends_with(0, &[&["run", "houses.toml"], &few[..]].concat());
    let answer = answer(&project, "houses");
    assert_says(&answer, "validation R²");
    assert!(
        answer.contains(|letter: char| letter.is_ascii_digit()),
        "{answer}"
    );
    // Two seeds cannot tell which model is best; the user says which.
    let undecided = project.run(&["predict", "houses", "houses.csv"]);
    let large = ["--cell", "model=large"];
    assert_says(&undecided.stderr, large.join(" "));
    let predict = ["predict", "houses", "houses.csv", "--out", "prices.csv"];
    project.ends_with(0, &[&predict[..], &large].concat());
    assert_eq!(project.read("prices.csv").lines().count(), 121);
    let pytorch = ["export", "houses", "code", "--to", "pytorch"];
    project.ends_with(0, &[&pytorch[..], &large].concat());
    project.ends(0, "export houses tables --to csv");
    for file in [
        "code/model.py",
        "code/prepare.py",
        "tables/houses-columns.csv",
    ] {
        assert!(fs::metadata(project.path(file)).is_ok(), "{file}");
    }
    let exported = project.read("tables/houses.csv");
    let runs = project.read("reports/houses/runs.csv");
    assert_eq!(exported.lines().count(), runs.lines().count());
    assert_eq!(
        exported.lines().count(),
        7,
        "three models, two seeds, a header"
    );
}
