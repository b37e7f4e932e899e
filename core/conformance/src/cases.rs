//! All cases, group by group.

use crate::case::Case;

/// Every group's list. A group is a file under `cases/` with a `pub(crate) const CASES: &[Case]`.
const GROUPS: &[&[Case]] = &[];

/// Every case, in the order in which `--list` shows them.
pub fn all_cases() -> Vec<Case> {
    GROUPS.concat()
}
