//! The table.

use crate::measure::Figures;

/// Its head.
pub const HEAD: &str = "\
| clients | server | threads | user memory a connection | kernel stack a connection | connect all | time a reply | CPU a reply | end |
|---:|---|---:|---:|---:|---:|---:|---:|---:|";

/// A row of it: the medians of several runs.
pub fn row(name: &str, clients: u32, runs: &[Figures]) -> String {
    let median = |figure: fn(&Figures) -> f64| {
        let mut all: Vec<f64> = runs.iter().map(figure).collect();
        all.sort_by(f64::total_cmp);
        all.get(all.len() / 2).copied().unwrap_or(0.0)
    };
    let kib = |bytes: f64| format!("{:.1} KiB", bytes / 1024.0);
    format!(
        "| {clients} | {name} | {:.0} | {} | {} | {:.0} ms | {:.1} µs | {:.1} µs | {:.0} ms |",
        median(|run| run.threads),
        kib(median(|run| run.memory_bytes)),
        kib(median(|run| run.kernel_stack_bytes)),
        median(|run| run.connect_ms),
        median(|run| run.reply_us),
        median(|run| run.cpu_us),
        median(|run| run.end_ms),
    )
}
