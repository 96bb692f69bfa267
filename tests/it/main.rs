//! The integration tests: one binary, one module per behaviour.

#[cfg(unix)]
mod ab;
mod advice;
mod architecture;
mod branches;
mod cluster;
mod compare;
#[cfg(all(unix, feature = "cuda-stand-in"))]
mod cuda;
mod digits;
#[cfg(unix)]
mod disk;
mod doctor;
mod examples;
mod gate;
mod git_diff;
#[cfg(target_os = "linux")]
mod gpu_check;
#[cfg(unix)]
mod kill;
mod list;
mod manifest;
mod million;
mod plan;
#[cfg(unix)]
mod processes;
mod profile;
mod project;
mod protocol;
mod regression;
mod resume;
mod run;
mod samples;
mod schema;
mod search;
#[cfg(unix)]
mod search_kill;
#[cfg(target_os = "linux")]
mod search_overhead;
mod search_plan;
mod templates;
mod tiny;
#[cfg(unix)]
mod unet;
mod world;
