//! What came of a runtime, as a row of the table.

/// One runtime's row.
pub struct Row {
    pub name: &'static str,
    /// `Err` says why it was not tried.
    pub result: Result<Replays, String>,
}

/// What came of the replays on one runtime.
#[derive(Debug, Default)]
pub struct Replays {
    /// How many there were, and in which manners.
    pub how: String,
    pub transcripts: usize,
    /// Transcripts that came as written in every replay.
    pub identical: usize,
    /// What came in the others.
    pub differences: Vec<String>,
}

impl Row {
    /// What is to be said below the table.
    pub fn differences(&self) -> Vec<String> {
        match &self.result {
            Err(_) => Vec::new(),
            Ok(replays) => {
                let mut all: Vec<String> =
                    replays.differences.iter().map(|what| format!("DIFFERENT on {}: {what}", self.name)).collect();
                if all.is_empty() && (replays.identical < replays.transcripts || replays.transcripts == 0) {
                    all.push(format!("DIFFERENT on {}: it did not say what", self.name));
                }
                all
            }
        }
    }
}

/// The table in Markdown.
pub fn table(rows: &[Row]) -> String {
    let mut text = String::from("| runtime | replays | transcripts identical |\n|---|---|---|\n");
    for Row { name, result } in rows {
        text += &match result {
            Ok(Replays { how, transcripts, identical, .. }) => {
                format!("| {name} | {how} | {identical} of {transcripts} |\n")
            }
            Err(why) => format!("| {name} | not tried: {why} | |\n"),
        };
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(identical: usize, differences: &[&str]) -> Row {
        let differences = differences.iter().map(ToString::to_string).collect();
        let replays = Replays { how: "some".to_string(), transcripts: 3, identical, differences };
        Row { name: "a", result: Ok(replays) }
    }

    #[test]
    fn a_table_has_a_row_for_each() {
        let none = Row { name: "b", result: Err("it is not there".to_string()) };
        let expected = "| runtime | replays | transcripts identical |\n|---|---|---|\n| a | some | 3 of 3 |\n\
                        | b | not tried: it is not there | |\n";
        assert_eq!(table(&[row(3, &[]), none]), expected);
    }

    #[test]
    fn whatever_is_not_identical_is_a_difference() {
        assert_eq!(row(3, &[]).differences(), [""; 0]);
        assert_eq!(row(2, &["x", "y"]).differences(), ["DIFFERENT on a: x", "DIFFERENT on a: y"]);
        assert_eq!(row(2, &[]).differences().len(), 1);
        assert_eq!(Row { name: "a", result: Ok(Replays::default()) }.differences().len(), 1);
        assert_eq!(Row { name: "a", result: Err(String::new()) }.differences().len(), 0);
    }
}
