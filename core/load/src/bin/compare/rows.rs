//! What a line of the table is: who is judged against whom under which load, and what is to be reached.

use crate::load::Load;

/// A part that a server plays; the command line says which program does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The server that is judged.
    Subject,
    /// The core by itself, in this program.
    Core,
    /// The command that holds connections in a guest.
    Guest,
    /// The same protocol with a thread a connection.
    Threads,
    /// The bare loop.
    Yardstick,
    /// A tokio server with LinesCodec.
    Tokio,
    /// The Redis subset that is judged.
    Resp,
    /// Redis.
    Redis,
}

impl Role {
    /// Its name in tables, and the option that names its command.
    pub fn name(self) -> &'static str {
        match self {
            Role::Subject => "subject",
            Role::Core => "core",
            Role::Guest => "guest",
            Role::Threads => "threads",
            Role::Yardstick => "yardstick",
            Role::Tokio => "tokio",
            Role::Resp => "resp",
            Role::Redis => "redis",
        }
    }
}

/// What a figure is to reach.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Goal {
    /// Subject for reference, less is better.
    RatioAtMost(f64),
    /// Subject for reference, more is better.
    RatioAtLeast(f64),
    /// Subject for reference, only shown.
    Ratio,
    /// The subject's figure itself, less is better.
    AtMost(f64),
    /// The subject's figure itself, more is better.
    AtLeast(f64),
}

impl Goal {
    /// The bound, if there is one.
    pub fn bound(self) -> Option<f64> {
        match self {
            Goal::RatioAtMost(bound) | Goal::RatioAtLeast(bound) | Goal::AtMost(bound) | Goal::AtLeast(bound) => {
                Some(bound)
            }
            Goal::Ratio => None,
        }
    }

    /// Whether it is about the ratio of two servers.
    pub fn is_ratio(self) -> bool {
        matches!(self, Goal::RatioAtMost(_) | Goal::RatioAtLeast(_) | Goal::Ratio)
    }

    /// Whether `value` is on the right side of it.
    pub fn is_reached_by(self, value: f64) -> bool {
        match self {
            Goal::RatioAtMost(bound) | Goal::AtMost(bound) => value <= bound,
            Goal::RatioAtLeast(bound) | Goal::AtLeast(bound) => value >= bound,
            Goal::Ratio => true,
        }
    }
}

/// A server in a part, under a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Side {
    /// Which server.
    pub role: Role,
    /// What is done to it.
    pub load: Load,
}

/// A line of the table.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// For `--only`.
    pub name: &'static str,
    /// In words.
    pub what: &'static str,
    /// The server that is judged.
    pub subject: Side,
    /// What it is judged against; none for a goal that is no ratio.
    pub reference: Option<Side>,
    /// What it is to reach.
    pub goal: Goal,
}

impl Row {
    /// The same load on two servers.
    pub const fn pair(roles: (Role, Role), name: &'static str, what: &'static str, load: Load, goal: Goal) -> Row {
        let (role, against) = roles;
        Row { name, what, subject: Side { role, load }, reference: Some(Side { role: against, load }), goal }
    }

    /// The same load on the subject and on another server.
    pub const fn against(role: Role, name: &'static str, what: &'static str, load: Load, goal: Goal) -> Row {
        Row::pair((Role::Subject, role), name, what, load, goal)
    }

    /// The subject by itself.
    pub const fn alone(name: &'static str, what: &'static str, load: Load, goal: Goal) -> Row {
        Row { name, what, subject: Side { role: Role::Subject, load }, reference: None, goal }
    }

    /// The same with the loads of a smoke run.
    pub fn quick(self) -> Self {
        let quick = |side: Side| Side { load: side.load.quick(), ..side };
        Row { subject: quick(self.subject), reference: self.reference.map(quick), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goals_are_reached_from_the_right_side() {
        assert!(Goal::RatioAtMost(1.03).is_reached_by(1.03) && !Goal::RatioAtMost(1.03).is_reached_by(1.04));
        assert!(Goal::RatioAtLeast(0.9).is_reached_by(0.9) && !Goal::RatioAtLeast(0.9).is_reached_by(0.89));
        assert!(Goal::AtMost(192.0).is_reached_by(0.0) && !Goal::AtMost(192.0).is_reached_by(192.5));
        assert!(Goal::AtLeast(10.0).is_reached_by(10.0) && !Goal::AtLeast(10.0).is_reached_by(9.0));
        assert!(Goal::Ratio.is_reached_by(100.0));
    }
}
