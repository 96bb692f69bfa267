//! `fieldtrial new`: writes manifests that plan and run unchanged, also for the user's data.

use std::process::Command;

use fieldtrial::base::png;

use crate::project::{Ended, Project, assert_says, fieldtrial};

/// The forms that need no data.
const FORMS: [&str; 3] = ["quickstart", "search", "compare"];

fn read(project: &Project, path: &str) -> String {
    std::fs::read_to_string(project.path(path)).expect(path)
}

/// The cells of a new manifest, as `plan --format csv` prints them, without the header.
fn planned(project: &Project, path: &str) -> Vec<String> {
    let ended = project.run(&["plan", path, "--format", "csv"]);
    assert_eq!((ended.code, ended.stderr.as_str()), (0, ""), "{path}");
    ended.stdout.lines().skip(1).map(str::to_owned).collect()
}

/// The commands that an output proposes, in backticks.
fn proposed(ended: &Ended) -> Vec<&str> {
    ended.stderr.split('`').skip(1).step_by(2).collect()
}

#[test]
fn a_new_manifest_of_every_form_plans_as_it_is() {
    let project = Project::new().file("experiments/manifest.schema.json", "{}");
    for form in FORMS {
        let name = format!("my-{form}");
        let ended = project.ends_with(0, &["new", &name, "--from", form]);
        let path = format!("experiments/{name}.toml");
        assert!(
            ended.stdout.starts_with(&format!("{path}\n")),
            "{}",
            ended.stdout
        );
        let text = read(&project, &path);
        assert!(
            text.starts_with("#:schema manifest.schema.json\n# "),
            "{text}"
        );
        // Inline tables have a space after the brace, placeholders of a form have none.
        let is_open = |rest: &str| rest.starts_with(char::is_alphanumeric);
        assert!(!text.split('{').skip(1).any(is_open), "{text}");
        let cells = planned(&project, &path);
        assert!(
            cells.iter().all(|cell| cell.contains(",runs,")),
            "{form}: {cells:?}"
        );
    }
}

#[test]
fn the_smallest_new_manifest_runs_by_the_command_that_is_printed() {
    let project = Project::new().file(".git/HEAD", "");
    let ended = project.run(&["new", "mine"]);
    assert_eq!(
        (ended.code, ended.stdout.as_str()),
        (0, "experiments/mine.toml\n"),
        "{}",
        ended.stderr
    );
    let commands = proposed(&ended);
    assert_eq!(commands.len(), 2, "{}", ended.stderr);
    for command in commands {
        // `Project` calls the program as `fieldtrial`.
        let shell = Command::new("sh")
            .args([
                "-c",
                "fieldtrial() { \"$PROGRAM\" \"$@\"; }; eval \"$0\"",
                command,
            ])
            .env("PROGRAM", env!("CARGO_BIN_EXE_fieldtrial"))
            .current_dir(project.path(""))
            .output()
            .expect("a shell");
        let said = String::from_utf8_lossy(&shell.stderr);
        assert!(shell.status.success(), "{command}: {said}");
    }
    assert_says(&ended.stderr, "reports/mine/report.html");
    assert!(project.path("reports/mine/report.html").is_file());
}

#[test]
fn a_table_of_ones_own_gets_a_manifest_that_fits_it() {
    let rows = |row: &dyn Fn(usize) -> String| (0..60).map(row).collect::<Vec<_>>().concat();
    let kind = ["red", "blue"];
    let text = rows(&|i| format!("{},{},{}\n", kind[i % 2], i, i * i));
    let whole = rows(&|i| format!("{i},{}.5,{}\n", i, i % 3));
    let project = Project::new()
        .file("experiments/notes.txt", "")
        .file("in/text.csv", &format!("colour,a,b\n{text}"))
        .file("in/whole.csv", &format!("a,b,c\n{whole}"))
        .file("in/number.csv", &format!("a,Target,c\n{whole}"));
    for (name, target, classes, why) in [
        ("text", "colour", true, "text, of 2 kinds in 60 rows"),
        (
            "whole",
            "c",
            true,
            "3 different whole numbers in 60 rows; `false` if they are amounts",
        ),
        (
            "number",
            "Target",
            false,
            "numbers; `true` if they stand for classes",
        ),
    ] {
        let ended = project.ends_with(0, &["new", name, "--data", &format!("in/{name}.csv")]);
        let path = format!("experiments/{name}.toml");
        let text = read(&project, &path);
        for part in [
            format!("path = \"../in/{name}.csv\""),
            format!("target = \"{target}\" "),
            format!("classes = {classes} "),
            why.to_owned(),
            "[models.linear]".to_owned(),
            "# 60 rows; features are all columns but the target: `".to_owned(),
        ] {
            assert!(text.contains(&part), "{part}: {text}");
        }
        assert_says(&ended.stderr, format!("`{target}` is the target"));
        assert!(
            planned(&project, &path)
                .iter()
                .all(|cell| cell.contains(",runs,"))
        );
    }
}

#[test]
fn a_table_without_names_of_columns_is_told_from_one_with_them_and_a_last_column_of_texts_is_no_target()
 {
    let rows = |row: &dyn Fn(usize) -> String| (0..60).map(row).collect::<String>();
    let data = rows(&|i| format!("{},{}.5,{}\n", ["M", "F"][i % 2], i, i * i));
    let years = rows(&|i| format!("land {},{},{}.5,{i}\n", i % 9, i * i, i % 7));
    let cars = rows(&|i| format!("{},{},car {i}\n", i * i, ["usa", "japan"][i % 2]));
    let project = Project::new()
        .file("data.csv", &data)
        .file("years.csv", &format!("land,2000,2005,2020\n{years}"))
        .file("cars.csv", &format!("mpg,origin,name\n{cars}"));
    let ended = project.ends_with(0, &["new", "one", "--data", "data.csv"]);
    let told = "`data.csv` has no header, its first line is data (`M`, `0.5`, `0`): columns are named `c1` to `c3`";
    assert_says(&ended.stderr, told);
    assert_says(read(&project, "one.toml"), "header = false ");
    assert_says(read(&project, "one.toml"), "\n# 60 rows;");
    let ended = project.ends_with(
        0,
        &["new", "named", "--data", "data.csv", "--header", "true"],
    );
    assert!(!ended.stderr.contains("has no header"), "{}", ended.stderr);
    assert_says(read(&project, "named.toml"), "\n# 59 rows;");
    let ended = project.ends_with(0, &["new", "years", "--data", "years.csv"]);
    let told =
        "the first line of `years.csv` has the names of its columns, though `2000`, `2005`, `2020`";
    assert_says(&ended.stderr, told);
    assert_says(read(&project, "years.toml"), "\n# 60 rows;");
    let ended = project.ends_with(0, &["new", "two", "--data", "cars.csv"]);
    assert!(!ended.stderr.contains("warning"), "{}", ended.stderr);
    assert_says(
        &ended.stderr,
        "`origin` is the target (the last column of numbers or of few",
    );
    assert_says(&ended.stderr, "`name` is left out");
}

#[test]
fn tables_in_several_files_get_a_manifest_of_all_of_them() {
    let rows = |from: usize| {
        let row = |i: usize| format!("{i},{}.5,{}\n", i % 7, i * i);
        (from..from + 30).map(row).collect::<Vec<_>>().concat()
    };
    let project = Project::new()
        .file("experiments/notes.txt", "")
        .file("in/part-1.csv", &format!("a,b,price\n{}", rows(0)))
        .file("in/part-2.csv", &format!("a,b,price\n{}", rows(30)))
        .file("in/README", "")
        .file("mixed/1.csv", &format!("a,b,price\n{}", rows(0)))
        .file("mixed/2.tsv", "a,b,price\n7,8,9\n")
        .file("other/1.csv", "a,b,price\n1,2,3\n")
        .file("other/2.csv", "a,c,price\n1,2,3\n");
    for (name, data, path) in [
        ("folder", "in", "\"../in/*.csv\""),
        ("pattern", "in/part-?.csv", "\"../in/part-?.csv\""),
        ("list", "mixed", "[\"../mixed/1.csv\", \"../mixed/2.tsv\"]"),
    ] {
        project.ends_with(0, &["new", name, "--data", data]);
        let text = read(&project, &format!("experiments/{name}.toml"));
        assert!(text.contains(&format!("path = {path} ")), "{text}");
        let cells = planned(&project, &format!("experiments/{name}.toml"));
        assert!(cells.iter().all(|cell| cell.contains(",runs,")));
    }
    assert!(read(&project, "experiments/folder.toml").contains("# 60 rows;"));
    let ended = project.ends_with(2, &["new", "other", "--data", "other"]);
    let part = "in `2.csv`: lacks `b`; has `c` instead";
    assert!(ended.stderr.contains(part), "{}", ended.stderr);
    let changed = read(&project, "experiments/list.toml");
    let absent = changed
        .replace("2.tsv", "3.tsv")
        .replace("\"list\"", "\"absent\"");
    let project = project
        .file("experiments/absent.toml", &absent)
        .file("in/part-2.csv", "a,b,price\n1,,3\n")
        .file("in/part-1.csv", "a,b,price\n1,x,3\n");
    insta::assert_snapshot!(project.run(&["plan", "experiments/absent.toml"]).stderr);
    insta::assert_snapshot!(project.run(&["plan", "experiments/folder.toml"]).stderr);
}

#[test]
fn a_folder_of_rows_to_train_on_and_to_test_on_is_split_so() {
    let rows = |from: usize| {
        let row = |i: usize| format!("{i},{}.5,{}\n", i % 7, i * i);
        (from..from + 30).map(row).collect::<Vec<_>>().concat()
    };
    let project = Project::new()
        .file("experiments/notes.txt", "")
        .file(
            "in/train.csv",
            &format!("a,\"b \"\"x\"\"\",price\n{}", rows(0)),
        )
        .file(
            "in/test.csv",
            &format!("\"b \"\"x\"\"\",a,price\n{}", rows(30)),
        )
        .file("comp/train.csv", &format!("a,b,price\n{}", rows(0)))
        .file("comp/test.csv", "a,b\n1,2\n")
        .file("comp/answers.csv", "price\n3\n");
    for (data, split, guesses) in [
        (
            "in",
            true,
            &["rows of `test.csv` are held out", "`b \"x\"`"][..],
        ),
        (
            "comp",
            false,
            &[
                "`test.csv` has no `price` and is for `predict`",
                "`answers.csv` is not used",
            ],
        ),
    ] {
        let ended = project.ends_with(0, &["new", data, "--data", data]);
        for guess in guesses {
            assert_says(&ended.stderr, guess);
        }
        let path = format!("experiments/{data}.toml");
        let text = read(&project, &path);
        assert_says(&text, format!("path = \"../{data}/train.csv\" "));
        assert_eq!(text.contains("split = { test = \"test.csv\" }"), split);
        assert_eq!(text.contains("test = 0.15"), !split, "{text}");
        // A file to test on alone leaves no rows to choose the best epoch by.
        let answer = if split {
            "answer = [\"test_r2\"]"
        } else {
            "answer = [\"val_r2\"]"
        };
        assert_says(&text, answer);
        assert_eq!(text.contains("# at most"), !split, "{text}");
        assert_eq!(text.contains("early-stopping"), !split, "{text}");
        let planned = project.ends_with(0, &["plan", &path, "--format", "csv"]);
        assert!(planned.stdout.contains(",runs,"));
    }
}

#[test]
fn a_rare_class_is_told_and_balanced_accuracy_decides() {
    let row = |i: usize| {
        format!(
            "{},{}\n",
            i * i,
            if i.is_multiple_of(12) { "yes" } else { "no" }
        )
    };
    let rows = (0..60).map(row).collect::<Vec<_>>().concat();
    let project = Project::new().file("rare.csv", &format!("a,left\n{rows}"));
    let ended = project.ends_with(0, &["new", "rare", "--data", "rare.csv"]);
    assert_says(&ended.stderr, "the rarest class has 5 of 60 rows");
    assert!(read(&project, "rare.toml").contains("answer = [\"val_balanced_accuracy\"]"));
}

#[test]
fn in_an_empty_folder_a_manifest_for_data_elsewhere_plans() {
    let project = Project::new().file("data/a.csv", "a,b\n1,2.5\n3,4\n7,1\n9,2\n");
    let empty = project.path("empty");
    std::fs::create_dir(&empty).expect("a folder");
    let run = |arguments: &[&str]| {
        let ended = fieldtrial().args(arguments).current_dir(&empty).output();
        ended.expect("the program").status.code()
    };
    assert_eq!(run(&["new", "a", "--data", "../data/none.csv"]), Some(2));
    assert!(!empty.join("experiments").exists());
    assert_eq!(run(&["new", "a", "--data", "../data/a.csv"]), Some(0));
    assert_eq!(run(&["plan", "experiments/a.toml"]), Some(0));
}

#[test]
fn a_folder_of_images_of_ones_own_gets_a_manifest_that_fits_it() {
    let project = Project::new();
    for path in [
        "cat/1.png",
        "cat/2.png",
        "cat/3.png",
        "dog/1.png",
        "dog/2.png",
        "dog/3.png",
    ] {
        let path = project.path("photos").join(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
        let pixels = vec![path.to_string_lossy().len() as u8; 8 * 8 * 3];
        std::fs::write(path, png::encode(8, 8, &pixels).expect("a PNG")).expect("a file");
    }
    std::fs::write(project.path("photos/dog/4.png"), b"no image").expect("a file");
    project.ends_with(0, &["new", "some", "--data", "photos"]);
    assert!(read(&project, "some.toml").contains("damaged = \"leave-out\""));
    std::fs::remove_file(project.path("photos/dog/4.png")).expect("the file");
    project.ends_with(0, &["new", "pets", "--data", "photos"]);
    let text = read(&project, "pets.toml");
    for part in [
        "# 6 images of 2 classes: `cat`, `dog`.",
        "path = \"photos\"",
        "batch-size = 4\n",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(
        planned(&project, "pets.toml")
            .iter()
            .all(|cell| cell.contains(",runs,"))
    );
}

#[test]
fn a_script_gets_a_manifest_with_its_arguments_and_what_it_prints() {
    let script = "import argparse\nparser = argparse.ArgumentParser()\n\
        parser.add_argument('--data', required=True)\n\
        parser.add_argument('-j', '--num-workers', type=int, default=0)\n\
        parser.add_argument('--batch-size', type=int, default=64)\n\
        parser.add_argument('--lr', type=float, default=1e-3)\n\
        parser.add_argument('--epochs', type=int, default=3)\n\
        parser.add_argument('--width', type=int, choices=[8, 16], default=16)\n\
        parser.add_argument('--opt', choices=['adam', 'sgd'], default='adam')\n\
        args = parser.parse_args()\n\
        print(f'val_loss={args.lr * args.batch_size}')\n";
    let project = Project::new().file("train.py", script);
    let without = project.ends_with(2, &["new", "mine", "--script", "train.py"]);
    assert_says(&without.stderr, "`train.py` needs --data");
    project.ends_with(0, &["new", "mine", "--script", "train.py --data=photos"]);
    let text = read(&project, "mine.toml");
    for part in [
        "\"--data=photos\", \"--num-workers={loader.workers}\", \"--batch-size={train.batch-size}\", \"--lr={lr}\"",
        "lr = { float = [1e-5, 1e-1], default = 1e-3 }",
        "val_loss = { better = \"lower\" }",
        "\"loader.workers\" = [0, 2]",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("observe"), "{text}");
    assert_eq!(planned(&project, "mine.toml").len(), 4);
    if Command::new("python3").arg("--version").output().is_ok() {
        // One that Python is asked about, which also sees arguments that the source does not show in one line.
        assert_says(
            &text,
            "opt = { choice = [\"adam\", \"sgd\"], default = \"adam\" }",
        );
        let width = "width = { choice = [8, 16], default = 16 }";
        assert!(text.contains(width), "{text}");
        project.ends_with(
            0,
            &[
                "run",
                "mine.toml",
                "--no-report",
                "--set",
                "measure.repeats=1",
                "--set",
                "matrix.\"models.script.width\"=[8, 16]",
            ],
        );
        // It prints its loss once, at the end of the three epochs that it was told to train.
        let rows = project.rows_of("mine", "runs.csv");
        assert!(rows.iter().all(|row| row["epochs"] == "3"), "{rows:?}");
        assert_eq!(rows.len(), 8);
    }
}

/// A module of that name in the folder stands for PyTorch.
#[test]
fn a_script_of_pytorch_is_observed_and_its_manifest_plans() {
    let script = "import argparse\nimport torch\nparser = argparse.ArgumentParser()\n\
        parser.add_argument('--batch-size', type=int, default=64)\nargs = parser.parse_args()\nprint(f'val_loss={1}')\n";
    let project = Project::new().file("train.py", script).file("torch.py", "");
    let ended = project.run(&["new", "mine", "--script", "train.py"]);
    if Command::new("python3").arg("--version").output().is_ok() {
        assert_eq!(ended.code, 0, "{}", ended.stderr);
        let text = read(&project, "mine.toml");
        assert!(text.contains("observe = \"pytorch\""));
        // Nothing tells the observer how many samples a step has.
        assert!(text.contains("answer = [\"where\", \"step_ms\"]"), "{text}");
        assert_eq!(planned(&project, "mine.toml").len(), 2);
    }
}

/// Names as scripts have them: with `-`, with `_`, with capitals, and of several parts.
#[test]
fn every_name_of_an_argument_gets_a_manifest_that_plans() {
    let shapes = [
        "'--channels-last', action='store_true'",
        "'--block_size', type=int, default=32",
        "'--lrD', type=float, default=2e-4",
        "'--adam-steps', type=int, default=60",
    ];
    let project = shapes
        .iter()
        .enumerate()
        .fold(Project::new(), |project, (place, call)| {
            let script = format!(
                "import argparse\np = argparse.ArgumentParser()\np.add_argument({call})\n\
                 p.add_argument('--batchSize', type=int, default=64)\np.parse_args()\nprint(f'loss={{1}}')\n"
            );
            project.file(&format!("train{place}.py"), &script)
        });
    for place in 0..shapes.len() {
        let (name, script) = (format!("mine{place}"), format!("train{place}.py"));
        project.ends_with(0, &["new", &name, "--script", &script]);
        let manifest = format!("{name}.toml");
        assert_eq!(planned(&project, &manifest).len(), 2);
        // Without the axis the script's own default holds.
        assert!(read(&project, &manifest).contains("[train]\nbatch-size = 64\n"));
    }
}

#[test]
fn a_subcommand_of_a_script_has_its_own_arguments() {
    if Command::new("python3").arg("--version").output().is_err() {
        return;
    }
    let script = "import argparse\nparser = argparse.ArgumentParser()\n\
        commands = parser.add_subparsers()\ntrain = commands.add_parser('train')\n\
        train.add_argument('--rate', type=float, default=0.1)\nparser.parse_args()\n\
        acc = 1\nprint(f'acc {100*acc:.2f}')\n";
    let project = Project::new().file("sub.py", script);
    project.ends_with(0, &["new", "sub", "--script", "sub.py train"]);
    let text = read(&project, "sub.toml");
    assert!(text.contains("\"train\", \"--rate={rate}\""), "{text}");
    assert!(text.contains("acc = "), "{text}");
}

#[test]
fn what_a_script_imports_is_in_its_code() {
    if Command::new("python3").arg("--version").output().is_err() {
        return;
    }
    let script = "import json, math\nfrom pkg.model import Net\nfrom helper import x\nopen('config.yaml')\nexec(open('read.py').read())\n";
    let project = Project::new()
        .file("main.py", script)
        .file("helper.py", "x = 1\n")
        .file("pkg/__init__.py", "")
        .file("pkg/model.py", "Net = 1\n")
        .file("config.yaml", "a: 1\n")
        .file("read.py", "")
        .file("other.py", "")
        .file("experiments/other.yaml", "");
    project.ends_with(0, &["new", "mine", "--script", "main.py"]);
    let text = read(&project, "experiments/mine.toml");
    let code = "code = [\"main.py\", \"config.yaml\", \"helper.py\", \"pkg/**/*.py\", \"read.py\"]";
    // It starts where `new` was called, so that its own relative paths hold.
    assert!(text.contains("folder = \"..\""), "{text}");
    assert!(text.contains(code), "{text}");
    // The same, however the path is spelled.
    let whole = project.path("main.py").display().to_string();
    for (name, script) in [("whole", &*whole), ("around", "./pkg/../main.py")] {
        project.ends_with(0, &["new", name, "--script", script]);
        let text = read(&project, &format!("experiments/{name}.toml"));
        assert!(text.contains(code), "{text}");
    }
    // A file that an argument names is no less of its code.
    let with = "main.py other.py --settings=experiments/other.yaml --data=absent.py";
    project.ends_with(0, &["new", "with", "--script", with]);
    let text = read(&project, "experiments/with.toml");
    let more = "\"read.py\", \"other.py\", \"experiments/other.yaml\"]";
    assert!(text.contains(more), "{text}");
}

#[test]
fn the_settings_of_hydra_are_in_the_code() {
    if Command::new("python3").arg("--version").output().is_err() {
        return;
    }
    let script = "import hydra\n@hydra.main(version_base=None, config_path=\"conf\", config_name=\"config\")\ndef main(cfg): pass\n";
    let project = Project::new()
        .file("app/app.py", script)
        .file("app/conf/config.yaml", "opt: adam\n")
        .file("app/conf/opt/adam.yaml", "lr: 1\n");
    let ended = project.run(&["new", "mine", "--script", "app/app.py"]);
    let text = read(&project, "mine.toml");
    let code = "code = [\"app/app.py\", \"app/conf/**/*.yaml\"]";
    assert!(text.contains(code), "{text}");
    assert_says(&ended.stderr, "no override of Hydra");
}

#[test]
fn a_script_that_parses_no_arguments_is_not_run() {
    let script = "open('ran', 'w').close()\nprint(f'val_loss={1}')\n";
    let project = Project::new().file("train.py", script);
    project.ends_with(0, &["new", "mine", "--script", "train.py"]);
    assert!(!project.path("ran").exists());
}

/// `new` with these arguments ends with this message and writes nothing.
fn refuses(project: &Project, arguments: &[&str], message: &str) {
    let ended = project.ends_with(2, &[&["new"], arguments].concat());
    assert_says(&ended.stderr, message);
    assert_eq!(ended.stdout, "", "{arguments:?}");
    for path in ["Mine.toml", "else.toml", "fruit.toml", "x.toml", "nowhere"] {
        assert!(!project.path(path).exists(), "{arguments:?}: {path}");
    }
}

#[test]
fn what_cannot_become_a_manifest_is_refused_and_leaves_nothing() {
    let project = Project::new()
        .file("taken.toml", "name = \"else\"\n")
        .file("texts.csv", "name,age\nAda,3\n");
    for (arguments, message) in [
        (&["Mine"][..], "`name` cannot be `Mine`"),
        (
            &["templates"],
            "`reports/templates/` is used for something else",
        ),
        (&["else"], "`name = \"else\"` is taken by `taken.toml`"),
        (&["taken"], "`taken.toml` is there already"),
        (
            &["x", "--from", "csv"],
            "`--from` with a form of data needs the data",
        ),
        (
            &["x", "--from", "search", "--data", "texts.csv"],
            "`--data` goes with `--from csv`, `images`, `arrays` or `text`",
        ),
        (
            &["x", "--folder", "nowhere"],
            "there is no folder `nowhere`",
        ),
    ] {
        refuses(&project, arguments, message);
    }
    assert_eq!(read(&project, "taken.toml"), "name = \"else\"\n");
}

#[test]
fn a_file_that_is_no_table_to_learn_from_is_refused_with_the_reason() {
    let project = Project::new()
        .file("texts.csv", "name,age\nAda,3\nBob,4\nEve,5\nIda,6\n")
        .file("ragged.csv", "a,b\n1,2\n1,2,3\n")
        .file("twice.csv", "a,b,a,y\n1,3,2,y\n")
        .file("blanks.data", " 0.5  3.1 \n 0.7  4.2\n");
    for (data, message) in [
        ("none.csv", "cannot read `none.csv`"),
        ("ragged.csv", "in line 3: 3 columns where the header has 2"),
        (
            "texts.csv",
            "`texts.csv` has no column from which to predict `name`",
        ),
        ("texts.csv", "help: free text, row numbers, copies,"),
        ("twice.csv", "`twice.csv` has two columns with the name `a`"),
        (
            "blanks.data",
            "`cat blanks.data | awk -v OFS=, '{ $1 = $1; print }' > with-commas.csv`",
        ),
    ] {
        refuses(&project, &["x", "--data", data], message);
    }
}

#[test]
fn a_text_begins_a_model_of_its_characters() {
    let text = "the next character of a text is not hard to guess; ".repeat(200);
    let project = Project::new().file("book.txt", &text);
    let ended = project.ends_with(0, &["new", "book", "--data", "book.txt"]);
    assert_eq!(ended.stdout, "book.toml\n");
    assert_eq!(planned(&project, "book.toml").len(), 3);
}

#[test]
fn targets_and_arrays_that_do_not_fit_are_refused() {
    let project = Project::new()
        .file("texts.csv", "name,age\nAda,3\nBob,4\nEve,5\nIda,6\n")
        .file("three.csv", "a,b,kind\n1,2,x\n3,4,y\n")
        .file("images/cat/1.png", "")
        .file("half.npy", "");
    for (arguments, message) in [
        (
            &["x", "--data", "texts.csv", "--target", "agee,name"][..],
            "`texts.csv` has no column `agee`; did you mean `age`?",
        ),
        (
            &["x", "--data", "three.csv", "--target", "a,kind"],
            "several targets must all be numbers, or all be labels of 0 and 1, but `kind`",
        ),
        (
            &["x", "--data", "images", "--target", "a"],
            "`--target` and `--header` are about the columns of a table",
        ),
        (&["x", "--data", "half.npy"], "`half.npy` is one array"),
        (
            &["x", "--from", "arrays", "--data", "texts.csv"],
            "`texts.csv` has no arrays",
        ),
    ] {
        let ended = project.ends_with(2, &[&["new"], arguments].concat());
        assert!(
            ended.stderr.contains(message),
            "{message}: {}",
            ended.stderr
        );
        assert!(!project.path("x.toml").exists(), "{arguments:?}");
    }
}
