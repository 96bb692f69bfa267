//! Words that several sections of a comparison say, in every language.

use crate::report::language::messages;

messages! {
    page_title(title) = "Before/after: {title}" | "Vorher/Nachher: {title}";
    written_by(version) = "Written by Fieldtrial {version} from the results files of both sides; the figures of every cell stand in comparison.csv where one was written." | "Geschrieben von Fieldtrial {version} aus den Ergebnisdateien beider Seiten; die Werte aller Zellen stehen in comparison.csv, sofern sie geschrieben wurde.";
    section_list() = "Sections" | "Abschnitte";
    table_link() = "table" | "Tabelle";
    warnings() = "Before you read the figures:" | "Vor dem Lesen der Zahlen:";
    show() = "show" | "anzeigen";
    no_headline() = "No time of the two sides can be compared" | "Keine Zeit der beiden Seiten ist vergleichbar";

    before() = "before" | "vorher";
    after() = "after" | "nachher";
    cell() = "cell" | "Zelle";
    only_cell() = "the only cell" | "einzige Zelle";
    cut(rows, all) = "{rows} of {all} cells, those with a verdict first; all of them are in comparison.csv." | "{rows} von {all} Zellen, solche mit Urteil zuerst; alle stehen in comparison.csv.";
    after_by_before() = "after ÷ before" | "nachher ÷ vorher";
    across_environments(formula) = "{formula}, between different environments" | "{formula}, zwischen verschiedenen Umgebungen";
    across_caption() = "Both sides were measured in different environments." | "Beide Seiten wurden in verschiedenen Umgebungen gemessen.";
    median_of_runs() = "median of n runs" | "Median über n Läufe";
    number_of_runs() = "number of runs" | "Anzahl der Läufe";

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
    sessions() = "separate sessions" | "getrennte Sitzungen";
    same_work() = "speed-up" | "Beschleunigung";
    treatments() = "ratio of treatments" | "Verhältnis von Behandlungen";
    different_work() = "no ratio: different work" | "kein Verhältnis: verschiedene Arbeit";
    time_per_sample() = "time per sample" | "Zeit je Sample";
}
