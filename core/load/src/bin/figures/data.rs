//! What the sweeps find, as it is kept in a file.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Everything that tables and plots are made of.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Data {
    /// Where and how it was measured, in words.
    pub how: String,
    /// CPU a reply over connections that all send, one line in flight on each.
    pub active: Sweep<f64>,
    /// CPU a reply of 64 connections over idle ones beside them.
    pub idle: Sweep<f64>,
    /// Memory over connections that are held.
    pub held: Sweep<Memory>,
}

/// One load in rising sizes on each server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sweep<T> {
    /// Numbers of connections.
    pub sizes: Vec<u64>,
    /// A line for each server.
    pub series: Vec<Series<T>>,
}

/// A server's figures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Series<T> {
    /// The server.
    pub name: String,
    /// By number of connections.
    pub points: BTreeMap<u64, T>,
    /// The number of connections that it did not serve, and what happened; larger ones were not tried.
    pub stopped: Option<(u64, String)>,
}

/// Memory with so many connections held, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Memory {
    /// All that the server has in user space.
    pub total: f64,
    /// Growth of it for each connection.
    pub each: f64,
    /// The kernel's part for each connection, both ends of it.
    pub kernel_each: f64,
}

impl<T> Default for Sweep<T> {
    fn default() -> Self {
        Sweep { sizes: Vec::new(), series: Vec::new() }
    }
}

impl<T: Copy> Sweep<T> {
    /// The series of a server, if it has any point.
    pub fn of(&self, name: &str) -> Option<&Series<T>> {
        self.series.iter().find(|series| series.name == name && !series.points.is_empty())
    }
}
