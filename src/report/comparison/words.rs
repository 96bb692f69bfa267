//! Texts that several sections of a comparison use, in every language.

use crate::report::language::messages;

messages! {
    page_title(title) = "Before/after: {title}" | "Vorher/Nachher: {title}";
    written_by(version) = "Written by Fieldtrial {version} from the results files of both sides; the figures of every cell stand in comparison.csv where one was written." | "Geschrieben von Fieldtrial {version} aus den Ergebnisdateien beider Seiten; die Werte aller Zellen stehen in comparison.csv, sofern sie geschrieben wurde.";
    section_list() = "Sections" | "Abschnitte";
    warnings() = "Before you read the figures:" | "Vor dem Lesen der Zahlen:";

    before() = "before" | "vorher";
    after() = "after" | "nachher";
    quoted(name) = "“{name}”" | "„{name}“";
    cell() = "cell" | "Zelle";
    only_cell() = "the only cell" | "einzige Zelle";
    after_by_before() = "after ÷ before" | "nachher ÷ vorher";
    across_environments(formula) = "{formula}, across environments" | "{formula}, über Umgebungen hinweg";
    across_caption() = "Both sides were measured in different environments." | "Beide Seiten wurden in verschiedenen Umgebungen gemessen.";
    median_of_runs() = "median of n runs" | "Median über n Läufe";

    faster_by(times) = "{times}× faster" | "{times}× schneller";
    slower_by(times) = "{times}× slower" | "{times}× langsamer";
    faster() = "faster" | "schneller";
    slower() = "slower" | "langsamer";
    same() = "same" | "gleich";
    too_few_runs() = "too few runs" | "zu wenige Läufe";
    unclear() = "unclear" | "unklar";
    not_comparable() = "not comparable" | "nicht vergleichbar";
    detectable(effect) = "smallest detectable effect {effect}" | "kleinster nachweisbarer Effekt {effect}";
    at_least_runs(count) = "at least {count} a side" | "mindestens {count} je Seite";
    interleaved() = "interleaved, in pairs" | "verzahnt, paarweise";
    until_sure() = "interleaved, in pairs, until each cell’s verdict was sure" | "verzahnt, paarweise, bis das Urteil jeder Zelle sicher war";
    sessions() = "separate sessions" | "getrennte Sitzungen";
    wide_interval() = "no effect is shown, and the interval is too wide for “same”" | "kein Effekt nachgewiesen, und das Intervall ist für „gleich“ zu breit";
    holm_p(p) = "{p} after Holm" | "{p} nach Holm";
    any_look_p(p) = "{p} at any look" | "{p} bei jeder Betrachtung";
    not_sure() = "the pairs ended before an effect or its absence was sure" | "die Paare endeten, bevor ein Effekt oder sein Fehlen sicher war";
    few_runs() = "no effect is shown, and the runs are too few for “same”" | "kein Effekt nachgewiesen, und die Läufe sind für „gleich“ zu wenige";
    at_threshold(share) = "an effect is shown, but not whether it exceeds the threshold of {share}" | "ein Effekt ist nachgewiesen, nicht aber, dass er die Schwelle von {share} übersteigt";
    no_session_floor() = "measured in two sessions; how far sessions of this machine differ was not measured" | "in zwei Sitzungen gemessen; wie weit Sitzungen dieser Maschine auseinanderliegen, wurde nicht gemessen";
    other_session() = "measured in two sessions, which can differ without a change; runs in one session (`ab`) would tell" | "in zwei Sitzungen gemessen, die sich auch ohne Änderung unterscheiden können; Läufe in einer Sitzung (`ab`) würden es zeigen";
    file_pages() = "the difference is within 8 MiB, by which equal runs can differ: pages of the program’s files count" | "der Unterschied liegt innerhalb von 8 MiB, um die sich gleiche Läufe unterscheiden können: Seiten der Programmdateien zählen mit";
    within_session_floor(share) = "measured in two sessions, and sessions of this machine differ by {share}" | "in zwei Sitzungen gemessen, und Sitzungen dieser Maschine unterscheiden sich um {share}";
    session_noise() = "the sessions differ by more than usual, but not by more than their own noise" | "die Sitzungen unterscheiden sich mehr als üblich, aber nicht mehr als ihr eigenes Rauschen";
    on_both() = "before and after" | "vorher und nachher";
    not_measured(side) = "not measured {side}" | "{side} nicht gemessen";
    same_runs() = "the same runs on both sides: nothing was measured since" | "auf beiden Seiten dieselben Läufe: seither wurde nichts gemessen";
    other_code(side) = "measured with other code than the rest {side}" | "{side} mit anderem Code gemessen als der Rest der Seite";
    other_environment(fields) = "other environment ({fields})" | "andere Umgebung ({fields})";
    other_work_per_sample(parts) = "other work per sample ({parts})" | "andere Arbeit je Sample ({parts})";
    other_threads(before, after) = "{before} threads before, {after} after" | "{before} Threads vorher, {after} nachher";
    steps_on(side) = "steps are known only {side}: `observe` both sides" | "Schritte sind nur {side} bekannt: beide Seiten brauchen `observe`";
    exclusive_on(side) = "runs had the machine for themselves only {side}" | "nur {side} hatten die Läufe die Maschine für sich";
}
