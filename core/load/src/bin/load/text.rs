//! The reports as text for people and as JSON for programs.

use std::fmt::Write;

use evserver_load::latency::Percentiles;
use evserver_load::process::{Memory, Shares};
use evserver_load::{churn, hold, quiet, steady};
use serde::Serialize;

/// What any kind of load reports; the JSON is the inner object.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum Report {
    /// Of a steady load.
    Steady(steady::Report),
    /// Of held connections.
    Hold(hold::Report),
    /// Of short connections.
    Churn(churn::Report),
    /// Of a quiet client.
    Quiet(quiet::Report),
}

/// Lines of `name` and `value`, aligned.
struct Table(String);

impl Table {
    fn row(&mut self, name: &str, value: impl AsRef<str>) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.0, "{name:<30} {}", value.as_ref());
    }

    fn optional(&mut self, name: &str, value: Option<String>) {
        self.row(name, value.as_deref().unwrap_or("not known without --pid"));
    }

    fn percentiles(&mut self, name: &str, found: &Percentiles) {
        let Percentiles { count, p50, p99, p99_9, max } = found;
        let text =
            format!("p50 {p50:.1} µs, p99 {p99:.1} µs, p99.9 {p99_9:.1} µs, max {max:.1} µs ({count} taken)");
        self.row(name, text);
    }

    fn shares(&mut self, found: &Shares) {
        let used = |cpu: f64, waited: Option<f64>| {
            let waited = waited.map_or(String::new(), |waited| format!(", waited for it {:.1}%", waited * 100.0));
            format!("{:.1}% of a processor{waited}", cpu * 100.0)
        };
        self.optional("server CPU", found.server_cpu_share.map(|cpu| used(cpu, found.server_waited_share)));
        self.row("load generator CPU", used(found.load_cpu_share, found.load_waited_share));
    }

    fn memory(&mut self, name: &str, found: Option<Memory>) {
        let text = found.map(|Memory { rss, private, anonymous }| {
            let [rss, private, anonymous] = [rss, private, anonymous].map(|bytes| bytes / 1024);
            format!("{rss} KiB resident, {private} KiB of it private, {anonymous} KiB anonymous")
        });
        self.optional(name, text);
    }
}

impl Report {
    /// One line of JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("numbers and plain names become JSON")
    }

    /// A line for each figure.
    pub fn to_text(&self) -> String {
        let mut table = Table(String::new());
        match self {
            Report::Steady(report) => steady(&mut table, report),
            Report::Hold(report) => hold(&mut table, report),
            Report::Churn(report) => churn(&mut table, report),
            Report::Quiet(report) => quiet(&mut table, report),
        }
        table.0
    }
}

fn steady(table: &mut Table, report: &steady::Report) {
    let steady::Report { connections, depth, line_bytes, idle, .. } = report;
    table.row(
        "load",
        format!("{connections} connections, {depth} lines in flight, {line_bytes}-byte lines, {idle} idle beside"),
    );
    table.row("measured", format!("{} replies in {:.2} s", report.replies, report.seconds));
    table.row("whole run", format!("{} replies", report.replies_whole_run));
    table.row("replies/s", format!("{:.0}", report.replies_per_second));
    table.optional("server CPU a reply", report.server_cpu_ns_per_reply.map(|ns| format!("{ns:.1} ns")));
    table.shares(&report.shares);
    table.percentiles("latency", &report.latency_us);
    table.row("errors", report.errors.to_string());
}

fn hold(table: &mut Table, report: &hold::Report) {
    let bytes = |value: f64| format!("{value:.1} bytes");
    table.row("held", format!("{} connections for {:.1} s", report.connections, report.held_seconds));
    let rate = report.connections as f64 / report.open_seconds;
    table.row("opened in", format!("{:.2} s ({rate:.0} a second)", report.open_seconds));
    let opening = report.server_cpu_ns_per_connection.map(|ns| format!("{ns:.0} ns a connection, with one line"));
    table.optional("server CPU of opening", opening);
    table.optional("server CPU while held", report.server_cpu_ms_while_held.map(|ms| format!("{ms:.3} ms")));
    table.memory("server memory before", report.memory_before);
    table.memory("server memory held", report.memory_held);
    table.memory("server memory after", report.memory_after);
    table.optional("user memory a connection", report.rss_bytes_per_connection.map(bytes));
    table.optional("  private", report.private_bytes_per_connection.map(bytes));
    table.optional("  anonymous", report.anonymous_bytes_per_connection.map(bytes));
    table.row("kernel objects a connection", bytes(report.kernel_slab_bytes_per_connection) + ", whole machine");
    table.row("kernel buffers a connection", bytes(report.kernel_buffer_bytes_per_connection) + ", whole machine");
    table.row("probed", format!("{} connections, seed {}", report.probed, report.seed));
    let probe = report.server_cpu_ns_per_probe.map(|ns| format!("{ns:.0} ns"));
    table.optional("server CPU a probe", probe);
    table.percentiles("probe latency", &report.probe_latency_us);
    table.row("errors", report.errors.to_string());
}

fn churn(table: &mut Table, report: &churn::Report) {
    let churn::Report { connections, concurrency, seconds, .. } = report;
    table.row("load", format!("{connections} short connections, {concurrency} at a time, in {seconds:.2} s"));
    table.row("connections/s", format!("{:.0}", report.connections_per_second));
    table.optional("server CPU a connection", report.server_cpu_ns_per_connection.map(|ns| format!("{ns:.0} ns")));
    table.shares(&report.shares);
    table.percentiles("connect to end", &report.latency_us);
    table.memory("server memory before", report.memory_before);
    table.memory("server memory after", report.memory_after);
    table.row("errors", report.errors.to_string());
}

fn quiet(table: &mut Table, report: &quiet::Report) {
    table.row("load", format!("a quiet client beside {} flooders for {:.1} s", report.flooders, report.seconds));
    table.percentiles("latency of the quiet client", &report.latency_us);
    table.row("flooders' replies/s", format!("{:.0}", report.flood_replies_per_second));
    let lines: Vec<String> = report.flood_lines.iter().map(u64::to_string).collect();
    table.row("flooders' answered lines", lines.join(", "));
    let unfairness = report.flood_unfairness.map_or("none to compare".into(), |ratio| format!("{ratio:.2}"));
    table.row("best flooder to worst", unfairness);
    table.optional("server CPU a reply", report.server_cpu_ns_per_reply.map(|ns| format!("{ns:.1} ns")));
    table.shares(&report.shares);
    table.row("errors", report.errors.to_string());
}
