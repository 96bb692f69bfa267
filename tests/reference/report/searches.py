"""The sentences of searches: see answers.py."""

from check import Folder, kind


@kind(r"Best (.+) of (\d+) trials, of which (\d+) ran to their end: (.+?) \(trial (\d+): (.+?)\); the next has (.+?) \(trial (\d+): (.+?)\)\.$")
def search(c, name, of, done, *told):
    order = c.best_trials()
    c.count("trials", of, len(c.all_trials()))
    c.count("ran to their end", done, len(order))
    for place, key in enumerate(order[:2]):
        value, trial, point = told[3 * place:][:3]
        c.number(f"best {name}", value, c.objective(key))
        row = c.rows(key).iloc[0]
        c.same("trial", trial, str(row.trial))
        for part in point.split(", "):
            parameter, setting = part.rsplit(" ", 1)
            own = next(col for col in c.runs.columns if col.endswith(parameter.replace("-", "_")))
            c.number(parameter, setting, float(row[own]))


@kind(r"The search took (.+?)(?:; the best was found after (.+))?\.$")
def took(c, time, found):
    c.seconds("time of all trials", time, c.makespan())
    if found:
        c.seconds("end of the best trial", found, c.end(c.best_trials()[0]))


@kind(r"Speed-up against (\S+), the same search of one trial after the other: (.+?) ÷ (.+?) = (\S+)× \(n = 1 on each side; "
      r"(\d+) of (\d+) trials pruned there, (\d+) of (\d+) trials pruned here\)\.$")
def speed_up(c, name, before, after, ratio, *pruned):
    other = Folder(c.path.parent / name)
    c.seconds("time of all trials there", before, other.makespan())
    c.seconds("time of all trials here", after, c.makespan())
    c.number("ratio", ratio, other.makespan() / c.makespan())
    for folder, part, of in [(other, *pruned[:2]), (c.folder, *pruned[2:])]:
        c.count("trials", of, len(folder.all_trials()))
        c.count("pruned", part, (folder.all_trials().status == "pruned").sum())


@kind(r"The best of this search, (.+), was found after (.+); that of the sequential one, (.+), after (.+)\.$")
def sooner(c, here, after, there, before):
    other = Folder(c.path.parent / f"{c.name}-sequential")
    for folder, value, time in [(c.folder, here, after), (other, there, before)]:
        best = folder.best_trials()[0]
        c.number("best", value, folder.objective(best))
        c.seconds("its end", time, folder.end(best))


@kind(r"None of (\d+) pruned trials that ran to the end beats the best of its study\.$")
def regret(c, number):
    full = c.runs[c.runs.trial.astype(str).str.endswith("-full")]
    c.count("pruned trials that ran on", number, len(full))
    c.count("that beat the best", "0", (full.best_loss < c.objective(c.best_trials()[0])).sum())


@kind(r"The search had seen best loss (.+?) after (\d+) epochs \(trial (\d+) of (\S+)\); here it is (.+?) after (\d+) epochs\.$")
def estimated(c, seen, short, trial, name, value, epochs):
    before = Folder(c.path.parent / name)
    key = before.best_trials()[0]
    c.number("best loss there", seen, before.objective(key))
    c.same("trial", trial, str(before.rows(key).iloc[0].trial))
    c.count("epochs there", short, before.rows(key).iloc[0].epochs)
    c.shown(value, c.keys[0], "best_loss")
    c.count("epochs", epochs, c.runs.epochs.iloc[0])


@kind(r"Winner by rule: (\S+), with (\d+) points of its Pareto front that no trial of another study dominates, against (\d+) of the next study\.$")
def winner(c, study, most, least):
    fronts = c.fronts()
    free = {s: sum(not any(c.dominates(q, p) for o in fronts if o != s for q in fronts[o].values()) for p in own.values())
            for s, own in fronts.items()}
    c.same("study", study, max(free, key=free.get))
    c.count("its points", most, max(free.values()))
    c.count("points of the next", least, min(free.values()))


@kind(r"(\S+): Best validation accuracy (\S+) \(trial (\d+): flops to best (.+?), parameters (\S+), first epoch at target (\d+)\); "
      r"(\d+) of (\d+) trials are on the Pareto front, none is best by every objective\.$")
def study(c, name, accuracy, trial, flops, parameters, epoch, on, of):
    own = c.fronts()[name]
    best = min(own, key=own.get)
    c.number("best validation accuracy", accuracy, -own[best][0])
    c.same("trial", trial, str(c.rows(best).iloc[0].trial))
    c.shown_value(flops, own[best][1])
    c.number("parameters", parameters, own[best][2], exact=True)
    c.count("first epoch at target", epoch, own[best][3])
    c.count("trials on the front", on, len(own))
    c.count("trials", of, (c.all_trials().variant == name).sum())
