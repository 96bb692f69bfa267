//! The integration tests: one binary, one module per behaviour.

#[cfg(unix)]
mod ab;
#[cfg(target_os = "linux")]
mod action;
mod advice;
mod answers;
mod architecture;
#[cfg(target_os = "linux")]
mod arrays;
mod baselines;
mod branches;
mod cell_hashes;
mod checkpoints;
mod circles;
mod cluster;
#[cfg(target_os = "linux")]
mod command_faults;
mod commands;
mod compare;
mod compare_untouched;
#[cfg(all(unix, feature = "cuda-stand-in"))]
mod cuda;
mod data;
mod digits;
#[cfg(unix)]
mod disk;
mod doctor;
#[cfg(unix)]
mod documents;
mod estimates;
mod examples;
mod exported;
mod exported_results;
mod fine_tuning;
mod gate;
mod git_diff;
#[cfg(target_os = "linux")]
mod github;
#[cfg(target_os = "linux")]
mod going_on;
mod gpu_check;
#[cfg(unix)]
mod history;
mod hostile;
mod images;
mod inputs;
#[cfg(unix)]
mod justfile;
#[cfg(unix)]
mod kill;
mod labels;
mod large_plans;
mod layer_mistakes;
mod list;
mod live;
mod manifest;
mod manual;
mod new;
mod package;
mod plan;
#[cfg(unix)]
mod processes;
mod profile;
mod project;
mod protocol;
mod pytorch;
mod pytorch_programs;
mod readers;
mod regression;
mod resume;
mod run;
mod sample;
mod samples;
mod schema;
mod scripted;
mod search;
#[cfg(unix)]
mod search_kill;
#[cfg(target_os = "linux")]
mod search_overhead;
mod search_plan;
mod soak;
mod stale;
mod store;
mod tables;
mod templates;
#[cfg(unix)]
mod terminal;
mod text_values;
mod tiny;
mod tour;
mod trained;
#[cfg(unix)]
mod unet;
mod work;
