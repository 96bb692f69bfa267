//! Tables as they are found in the wild: `new --data` writes a manifest for each that plans and runs as it is.

use crate::project::Project;

/// Pseudo-random numbers from 0 to 1, the same on every machine.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn next(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    pub(crate) fn one_of<'t>(&mut self, texts: &[&'t str]) -> &'t str {
        texts[(self.next() * texts.len() as f64) as usize]
    }

    /// The text, or for one of `n` rows another that stands for nothing.
    fn or(&mut self, n: f64, nothing: &str, text: String) -> String {
        if self.next() * n < 1.0 {
            nothing.to_owned()
        } else {
            text
        }
    }
}

/// A table of so many rows, each written from random numbers.
pub(crate) fn table(
    header: &str,
    rows: usize,
    mut row: impl FnMut(usize, &mut Random) -> String,
) -> String {
    let mut random = Random(5);
    let rows = (0..rows).map(|place| row(place, &mut random) + "\n");
    format!("{header}\n{}", rows.collect::<String>())
}

fn houses() -> String {
    table(
        "id,city,built,area,garden,notes,price",
        200,
        |row, random| {
            let area = random.next() * 180.0 + 40.0;
            let built = format!("{:02}.03.{}", row % 28 + 1, 1950 + row % 60);
            let known = random.or(9.0, "", format!("{area:.1}"));
            let city = random.one_of(&["Kiel", "Ulm", "Bonn", "Jena"]);
            let garden = random.or(3.0, "", random_garden(row));
            let price = area * 2000.0 + random.next() * 9000.0;
            format!(
                "{},{city},{built},{known},{garden},\"nice, no. {row}\",{price:.0}",
                row + 1
            )
        },
    )
}

fn random_garden(row: usize) -> String {
    ["yes", "no"][row % 2].to_owned()
}

/// With a byte order mark.
fn german() -> String {
    let text = table("Länge;Breite;Gewicht", 100, |_, random| {
        let [length, width] = [random.next() * 9.0, random.next() * 5.0];
        format!("{length:.2};{width:.2};{:.3}", length * width).replace('.', ",")
    });
    format!("\u{feff}{text}")
}

fn churn() -> String {
    table("customer_id,plan,months,calls,churn", 300, |row, random| {
        let (plan, calls) = (
            random.one_of(&["basic", "pro", "team"]),
            random.next() * 9.0,
        );
        let left = calls > 8.0 && random.next() < 0.5;
        let months = (random.next() * 60.0) as usize;
        format!(
            "C{row:05},{plan},{months},{calls:.0},{}",
            if left { "yes" } else { "no" }
        )
    })
}

fn sensors() -> String {
    table("device,temperature,vibration,state", 200, |row, random| {
        let vibration = random.next();
        let state = if vibration > 0.8 { "fault" } else { "ok" };
        format!(
            "dev{},{:.2},{vibration:.3},{state}",
            row / 20,
            20.0 + random.next()
        )
    })
}

fn series() -> String {
    table("date,promo,sales", 120, |row, random| {
        let (month, day) = (row / 28 + 1, row % 28 + 1);
        let sales = 100.0 + row as f64 / 5.0 + 5.0 * random.next();
        format!("2024-{month:02}-{day:02},{},{sales:.1}", row % 2)
    })
}

fn numbers(rows: usize, columns: usize) -> String {
    let names: Vec<String> = (0..columns).map(|column| format!("x{column}")).collect();
    table(&format!("{},y", names.join(",")), rows, |_, random| {
        let values: Vec<f64> = (0..columns).map(|_| random.next()).collect();
        let sum: f64 = values.iter().take(5).sum();
        let values: Vec<String> = values.iter().map(|value| format!("{value:.3}")).collect();
        format!("{},{sum:.4}", values.join(","))
    })
}

fn holes() -> String {
    table("a,b,c,d,target", 150, |row, random| {
        let a = random.next();
        let texts = [("NA", a), ("null", random.next()), ("-", row as f64)];
        let [a_text, b, d] =
            texts.map(|(nothing, value)| random.or(9.0, nothing, format!("{value:.2}")));
        let c = random.or(9.0, "", ["x", "y", "z"][row % 3].to_owned());
        let target = random.or(9.0, "", format!("{:.3}", 2.0 * a));
        format!("{a_text},{b},{c},{d},{target}")
    })
}

fn reviews() -> String {
    table("review,stars,words,label", 120, |row, random| {
        let is_good = random.next() < 0.5;
        let stars = 1 + 2 * usize::from(is_good) + row % 2;
        let label = if is_good { "good" } else { "bad" };
        format!(
            "\"One, {row}\nline \"\"two\"\"\",{stars},{},{label}",
            5 + row % 40
        )
    })
}

fn targets() -> String {
    table("u,v,lift,drag", 150, |_, random| {
        let [u, v] = [random.next(), random.next()];
        format!("{u:.3},{v:.3},{:.4},{:.4}", u * v, u - v)
    })
}

/// Two files of a table, and one in another order of columns: run, explained, trained on and used for new rows.
#[test]
fn a_table_in_several_files_is_trained_on_and_used() {
    let rows = |from: usize| (from..from + 20).map(move |i| [i % 7, i % 5, 3 * (i % 7) + i % 5]);
    let in_order = |from: usize| {
        let rows = rows(from).map(|[a, b, y]| format!("{a},{b},{y}\n"));
        format!("a,b,y\n{}", rows.collect::<String>())
    };
    let other = rows(40).map(|[a, b, y]| format!("{y},{b},{a}\n"));
    let manifest = "name = \"parts\"\n[models.m]\nkind = \"mlp\"\ndepth = 0\n[datasets.d]\nkind = \"csv\"\n\
        path = [\"../data/part-?.csv\", \"../data/more.csv\"]\ntarget = \"y\"\n[train]\nepochs = 3\n";
    let project = Project::new()
        .file("experiments/parts.toml", manifest)
        .file("data/part-1.csv", &in_order(0))
        .file("data/part-2.csv", &in_order(20))
        .file(
            "data/more.csv",
            &format!("y,b,a\n{}", other.collect::<String>()),
        )
        .file("new.csv", "a,b\n1,2\n");
    project.ends_with(0, &["run", "experiments/parts.toml"]);
    let plan = project.read("reports/parts/plan.json");
    assert!(plan.contains("\"../data/part-?.csv\""), "{plan}");
    let again = project.run(&["run", "experiments/parts.toml", "--dry-run"]);
    assert!(
        again.stderr.contains("1 kept") || again.stdout.contains("kept"),
        "{}{}",
        again.stdout,
        again.stderr
    );
    // The checkpoint finds the files from its own folder.
    project.ends_with(0, &["evaluate", "parts"]);
    let predicted = project.ends_with(0, &["predict", "parts", "new.csv"]);
    assert!(
        predicted.stdout.starts_with("row,prediction\n0,"),
        "{}",
        predicted.stdout
    );
    let project = project.file("data/part-2.csv", &in_order(21));
    project.ends_with(2, &["evaluate", "parts"]);
    let changed = project.run(&["run", "experiments/parts.toml", "--dry-run"]);
    assert_ne!(changed.stdout, again.stdout);
}

/// Two labels of a row, one with holes, as words and as numbers.
fn labels() -> String {
    table("u,v,rain,wind", 150, |_, random| {
        let [u, v] = [random.next(), random.next()];
        let rain = random.or(20.0, "", (u > 0.4).to_string());
        format!("{u:.3},{v:.3},{rain},{}", u8::from(u + v > 0.9))
    })
}

/// Makes a manifest of a table, runs it for one seed and a few epochs, and checks what was guessed and the answer.
fn check(name: &str, text: &str, guesses: &[&str], lines: &[&str]) {
    check_of(name, text, &[], guesses, lines);
}

/// As [`check`], of a manifest that `new` writes with these arguments.
fn check_of(name: &str, text: &str, more: &[&str], guesses: &[&str], lines: &[&str]) {
    let file = format!("data/{name}.csv");
    let project = Project::new()
        .file(&file, text)
        .file("experiments/notes.txt", "");
    let made = project.ends_with(0, &[&["new", name, "--data", &file], more].concat());
    for guess in guesses {
        assert!(made.stderr.contains(guess), "{guess}: {}", made.stderr);
    }
    let path = format!("experiments/{name}.toml");
    let manifest = project.read(&path);
    for line in lines {
        assert!(manifest.contains(line), "{line}: {manifest}");
    }
    let short = ["--set", "measure.seeds=[1]", "--set", "train.epochs=3"];
    project.ends_with(0, &[&["run", &path], &short[..]].concat());
    let page = project.read(&format!("reports/{name}/report.md"));
    assert!(page.contains("3 cells: 3 done"), "{name}: {page}");
    assert!(page.contains("validation"), "{name}: {page}");
}

#[test]
fn categories_dates_and_holes() {
    check(
        "houses",
        &houses(),
        &[
            "`price` is the target (by its name)",
            "`city`: 4 kinds",
            "`built`: a date",
            "`id` is left out (counts the rows)",
            "`notes` is left out (text, 200 different ones)",
        ],
        &[
            "\"area\" = { missing = \"median\" }",
            "\"garden\" = { category = true, missing = \"kind\" }",
            "\"built\" = { date = \"%d.%m.%Y\" }",
            "# split = { by = \"built\" }",
        ],
    );
    let lines = &[
        "missing-values = [\"-\", \"NA\", \"null\"]",
        "\"target\" = { missing = \"leave-out\" }",
    ];
    check("holes", &holes(), &["`a`: missing in "], lines);
    check(
        "series",
        &series(),
        &["`date`: a date"],
        &["{ date = \"%Y-%m-%d\" }"],
    );
}

#[test]
fn separators_quotes_and_marks() {
    check(
        "german",
        &german(),
        &["`Gewicht` is the target"],
        &["separator = \";\"\ndecimal = \",\""],
    );
    check(
        "reviews",
        &reviews(),
        &["`review` is left out (text, 120 "],
        &["classes = true"],
    );
}

#[test]
fn ids_groups_and_rare_classes() {
    let guesses = &[
        "`customer_id` is left out (a different value in every row)",
        "`churn` is the target",
    ];
    check(
        "churn",
        &churn(),
        guesses,
        &["\"plan\" = { category = true }"],
    );
    check(
        "sensors",
        &sensors(),
        &["`device`: 10 kinds"],
        &["target = \"state\""],
    );
}

#[test]
fn many_rows_many_columns_and_several_targets() {
    check(
        "rows",
        &numbers(3000, 30),
        &["30 columns as features"],
        &["target = \"y\""],
    );
    check(
        "wide",
        &numbers(60, 1000),
        &["1000 columns as features"],
        &[],
    );
    check(
        "targets",
        &targets(),
        &["`drag` is the target (the last column)"],
        &[],
    );
    check_of(
        "several",
        &targets(),
        &["--target", "lift,drag"],
        &[
            "the targets are numbers (numbers in each of several columns)",
            "2 columns as features: `u`, `v`",
        ],
        &[
            "target = [\"lift\", \"drag\"] ",
            "classes = false ",
            "predicted; as `--target` says",
            "predict `lift`, `drag` better",
        ],
    );
    check_of(
        "labels",
        &labels(),
        &["--target", "rain", "--target", "wind"],
        &["the targets are labels (0 or 1 in each of several columns"],
        &[
            "target = [\"rain\", \"wind\"] ",
            "classes = true ",
            "answer = [\"val_macro_f1\"]",
            "\"rain\" = { missing = \"leave-out\" }",
        ],
    );
}
