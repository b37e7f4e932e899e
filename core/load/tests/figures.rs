//! The program that makes tables and plots, as a user runs it.
#![cfg(target_os = "linux")]

use std::fs;
use std::path::Path;
use std::process::Command;

const FIGURES: &str = env!("CARGO_BIN_EXE_evserver-figures");

fn figures(folder: &Path, arguments: &[&str]) {
    let output = Command::new(FIGURES).arg("--out").arg(folder).args(arguments).output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn sweeps_give_tables_and_plots_that_can_be_drawn_again() {
    let folder = std::env::temp_dir().join(format!("evserver-figures-test-{}", std::process::id()));
    let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    figures(&folder, &["--quick", "--sweeps-only"]);
    let (table, cpu, memory) = (read("sweeps.md"), read("cpu.svg"), read("memory.svg"));
    assert!(table.starts_with("A smoke run: the figures say nothing. Linux "), "{table}");
    // Other servers may not be built: those of this package are.
    for name in ["yardstick, epoll", "yardstick, poll"] {
        assert!(cpu.contains(&format!(">{name}</tspan>")), "{name}: {cpu}");
        assert!(!table.contains(&format!("- {name} stops")), "{table}");
    }
    assert!(memory.contains(">yardstick, epoll</tspan>"), "{memory}");
    for name in ["sweeps.md", "cpu.svg", "memory.svg"] {
        fs::remove_file(folder.join(name)).unwrap();
    }
    figures(&folder, &["--draw"]);
    assert_eq!([read("sweeps.md"), read("cpu.svg"), read("memory.svg")], [table, cpu, memory]);
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn nothing_to_draw_is_said() {
    let folder = std::env::temp_dir().join(format!("evserver-figures-empty-{}", std::process::id()));
    let output = Command::new(FIGURES).args(["--draw", "--out"]).arg(&folder).output().unwrap();
    fs::remove_dir_all(&folder).unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("sweeps.json: No such file"), "{said}");
}
