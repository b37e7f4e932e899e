//! The tables.

use std::fmt::Write;

use crate::data::{Data, Series, Sweep};
use crate::plot::grouped;
use crate::sweep::ACTIVE;

/// The tables of the sweeps, as Markdown.
pub fn markdown(data: &Data) -> String {
    let mut text = format!("{}\n", data.how);
    let ns = |ns: &f64| grouped(*ns);
    heading(&mut text, "CPU for a reply, all connections active", "ns of server CPU a reply, one line in flight");
    table(&mut text, &data.active, ns);
    let beside = format!("ns of server CPU a reply, idle connections beside {ACTIVE} active ones");
    heading(&mut text, "CPU for a reply beside idle connections", &beside);
    table(&mut text, &data.idle, ns);
    text.push_str("\n![CPU for a reply over idle connections](cpu.svg)\n");
    let bytes = "bytes of user memory a connection (and in all, MiB)";
    heading(&mut text, "Memory of idle connections", bytes);
    table(&mut text, &data.held, |memory| {
        format!("{} ({:.1})", grouped(memory.each), memory.total / (1024.0 * 1024.0))
    });
    let kernel = data.held.series.first().and_then(|series| series.points.last_key_value());
    if let Some((connections, memory)) = kernel {
        let _ = writeln!(
            text,
            "\nThe kernel takes {} bytes besides for each of {} connections, both ends on this machine.",
            grouped(memory.kernel_each),
            grouped(*connections as f64)
        );
    }
    text.push_str("\n![Memory over connections](memory.svg)\n");
    text
}

fn heading(text: &mut String, title: &str, what: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "\n### {title}\n\n{what}:\n");
}

fn table<T: Copy>(text: &mut String, sweep: &Sweep<T>, cell: impl Fn(&T) -> String) {
    let names: Vec<&str> = sweep.series.iter().map(|series| series.name.as_str()).collect();
    let _ = writeln!(text, "| connections | {} |", names.join(" | "));
    let _ = writeln!(text, "|---:|{}", "---:|".repeat(names.len()));
    for &size in &sweep.sizes {
        let cells: Vec<String> =
            sweep.series.iter().map(|series| series.points.get(&size).map_or("–".into(), &cell)).collect();
        let _ = writeln!(text, "| {} | {} |", grouped(size as f64), cells.join(" | "));
    }
    let stopped: String = sweep.series.iter().filter_map(stop).collect();
    if !stopped.is_empty() {
        let _ = write!(text, "\n{stopped}");
    }
}

/// Where a server stopped, as an item of a list.
fn stop<T>(series: &Series<T>) -> Option<String> {
    let (size, why) = series.stopped.as_ref()?;
    Some(format!("- {} stops at {}: {}\n", series.name, grouped(*size as f64), why.replace('\n', " ")))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn a_server_that_stops_has_no_figures_from_there_on() {
        let series = |name: &str, points: &[(u64, f64)], stopped| Series {
            name: name.into(),
            points: points.iter().copied().collect::<BTreeMap<_, _>>(),
            stopped,
        };
        let sweep = Sweep {
            sizes: vec![1, 1000],
            series: vec![
                series("a", &[(1, 1234.4), (1000, 2000.0)], None),
                series("b", &[(1, 5.0)], Some((1000, "no\nroom".into()))),
            ],
        };
        let data = Data { how: "Here.".into(), active: sweep, ..Data::default() };
        let text = markdown(&data);
        assert!(
            text.contains("| connections | a | b |\n|---:|---:|---:|\n| 1 | 1,234 | 5 |\n| 1,000 | 2,000 | – |\n")
        );
        assert!(text.contains("\n- b stops at 1,000: no room\n"), "{text}");
    }
}
