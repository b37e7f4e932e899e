//! The two pictures.

use crate::contestant::{EPOLL_SHELL, POLL, THREADS_SHELL, TOKIO, YARDSTICK};
use crate::data::{Data, Sweep};
use crate::plot::{Line, Plot, grouped};

/// The server that it is about.
const BLUE: &str = "#2f7fe0";
const ORANGE: &str = "#c9690f";
const PURPLE: &str = "#9a5fd6";
const GREEN: &str = "#2d9150";
const RED: &str = "#d6455a";

/// How a server is drawn: its name, its colour, whether dashed.
type Look = (&'static str, &'static str, bool);

const LOOKS: [Look; 5] = [
    (EPOLL_SHELL.name, BLUE, false),
    (THREADS_SHELL.name, ORANGE, false),
    (TOKIO.name, PURPLE, false),
    (YARDSTICK.name, GREEN, true),
    (POLL.name, RED, true),
];

/// CPU a reply over idle connections: what epoll is for.
pub fn cpu(data: &Data) -> String {
    let plot = Plot {
        title: "Server CPU for a reply, 64 connections active".into(),
        x_name: "idle connections beside them".into(),
        lines: lines(&data.idle, |ns| ns / 1000.0),
        y_mark: |us| format!("{us} µs"),
    };
    plot.svg()
}

/// Memory over connections that are held.
pub fn memory(data: &Data) -> String {
    let mut lines = lines(&data.held, |memory| memory.total / MIB);
    if let Some(held) = data.held.of(EPOLL_SHELL.name) {
        // A handful of connections is lost in what the rest of the machine does.
        let far = held.points.iter().filter(|(connections, _)| **connections >= KERNEL_FROM);
        let points = far.map(|(&connections, memory)| {
            let connections = connections as f64;
            (connections, connections * memory.kernel_each / MIB)
        });
        let points: Vec<_> = points.filter(|point| point.1 > 0.0).collect();
        lines.push(Line { name: "kernel, both ends".into(), colour: RED, dashed: true, points });
    }
    let plot = Plot {
        title: "Memory of the server in user space".into(),
        x_name: "connections held".into(),
        lines,
        y_mark: |mib| if mib < 1.0 { format!("{mib} MiB") } else { grouped(mib) + " MiB" },
    };
    plot.svg()
}

const MIB: f64 = 1024.0 * 1024.0;

/// Fewer connections change the kernel's memory less than other work does.
const KERNEL_FROM: u64 = 1000;

fn lines<T: Copy>(sweep: &Sweep<T>, value: fn(&T) -> f64) -> Vec<Line> {
    let line = |(name, colour, dashed): Look| {
        let points = sweep.of(name)?.points.iter().map(|(&size, point)| (size as f64, value(point)));
        Some(Line { name: name.into(), colour, dashed, points: points.collect() })
    };
    LOOKS.into_iter().filter_map(line).collect()
}
