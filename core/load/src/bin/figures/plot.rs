//! A plot of lines over two logarithmic axes, as SVG.
//!
//! Nothing is painted behind it, and every colour stands out from white as well as from black. Names are written beside
//! the lines' ends: nobody has to match colours with a legend.

use std::fmt::Write;

use crate::axis::Axis;

/// Size of the picture.
const WIDTH: f64 = 860.0;
const HEIGHT: f64 = 430.0;

/// Where the lines are; the rest is for words.
const LEFT: f64 = 78.0;
const RIGHT: f64 = 690.0;
const TOP: f64 = 44.0;
const BOTTOM: f64 = 374.0;

/// Names beside the lines are so far apart at least.
const NAME_GAP: f64 = 18.0;

/// Words and axes.
const GREY: &str = "#6e7681";

/// A plot.
#[derive(Clone, Debug)]
pub struct Plot {
    /// Above it.
    pub title: String,
    /// Below the horizontal axis.
    pub x_name: String,
    /// What is drawn.
    pub lines: Vec<Line>,
    /// How a mark of the vertical axis is written.
    pub y_mark: fn(f64) -> String,
}

/// A line.
#[derive(Clone, Debug)]
pub struct Line {
    /// At its end.
    pub name: String,
    /// `#rrggbb`
    pub colour: &'static str,
    /// For what is only there to compare with.
    pub dashed: bool,
    /// From left to right.
    pub points: Vec<(f64, f64)>,
}

impl Plot {
    /// The picture.
    pub fn svg(&self) -> String {
        let points = || self.lines.iter().flat_map(|line| &line.points);
        let x = Axis::around(points().map(|point| point.0));
        let y = Axis::around(points().map(|point| point.1));
        let across = |value: f64| LEFT + x.place(value) * (RIGHT - LEFT);
        let down = |value: f64| BOTTOM - y.place(value) * (BOTTOM - TOP);
        let mut svg = String::new();
        // Writing to a string cannot fail.
        let _ = writeln!(
            svg,
            r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" role="img" font-family="sans-serif" font-size="13" fill="{GREY}">"#
        );
        let title = escape(&self.title);
        let _ = writeln!(svg, "<title>{title}</title>");
        text(
            &mut svg,
            LEFT,
            22.0,
            "start",
            &format!(r#"<tspan font-size="15" font-weight="bold">{title}</tspan>"#),
        );
        for &mark in &y.marks {
            let at = down(mark);
            rule(&mut svg, (LEFT, at), (RIGHT, at));
            text(&mut svg, LEFT - 8.0, at + 4.5, "end", &escape(&(self.y_mark)(mark)));
        }
        for &mark in &x.marks {
            let at = across(mark);
            rule(&mut svg, (at, TOP), (at, BOTTOM));
            text(&mut svg, at, BOTTOM + 20.0, "middle", &grouped(mark));
        }
        text(&mut svg, (LEFT + RIGHT) / 2.0, BOTTOM + 44.0, "middle", &escape(&self.x_name));
        for line in &self.lines {
            line.draw(&mut svg, across, down);
        }
        self.names(&mut svg, down);
        svg.push_str("</svg>\n");
        svg
    }

    /// The names at the right, each at its line's end or as near as the others allow.
    fn names(&self, svg: &mut String, down: impl Fn(f64) -> f64) {
        let mut names: Vec<(f64, &Line)> =
            self.lines.iter().filter_map(|line| Some((down(line.points.last()?.1), line))).collect();
        names.sort_by(|one, other| one.0.total_cmp(&other.0));
        let ends: Vec<f64> = names.iter().map(|(end, _)| *end).collect();
        for (at, (_, line)) in apart(&ends).into_iter().zip(names) {
            let name = format!(r#"<tspan fill="{}">{}</tspan>"#, line.colour, escape(&line.name));
            text(svg, RIGHT + 12.0, at + 4.5, "start", &name);
        }
    }
}

impl Line {
    fn draw(&self, svg: &mut String, across: impl Fn(f64) -> f64, down: impl Fn(f64) -> f64) {
        let places: Vec<(f64, f64)> = self.points.iter().map(|point| (across(point.0), down(point.1))).collect();
        let path: Vec<String> = places.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let dashes = if self.dashed { r#" stroke-dasharray="6 4""# } else { "" };
        let _ = writeln!(
            svg,
            r#"<polyline points="{}" fill="none" stroke="{}" stroke-width="2.2" stroke-linejoin="round"{dashes}/>"#,
            path.join(" "),
            self.colour
        );
        for (x, y) in places {
            let _ = writeln!(svg, r#"<circle cx="{x:.1}" cy="{y:.1}" r="3.2" fill="{}"/>"#, self.colour);
        }
    }
}

/// `ends` in rising order, moved until each is [`NAME_GAP`] below the one before and all are in the picture.
fn apart(ends: &[f64]) -> Vec<f64> {
    let mut places = ends.to_vec();
    for index in 1..places.len() {
        places[index] = places[index].max(places[index - 1] + NAME_GAP);
    }
    let mut limit = BOTTOM;
    for place in places.iter_mut().rev() {
        *place = place.min(limit);
        limit = *place - NAME_GAP;
    }
    places
}

fn rule(svg: &mut String, from: (f64, f64), to: (f64, f64)) {
    let _ = writeln!(
        svg,
        r#"<line x1="{:.1}" y1="{:.1}" x2="{:.1}" y2="{:.1}" stroke="{GREY}" stroke-opacity="0.3"/>"#,
        from.0, from.1, to.0, to.1
    );
}

/// `inner` may have elements in it.
fn text(svg: &mut String, x: f64, y: f64, anchor: &str, inner: &str) {
    let _ = writeln!(svg, r#"<text x="{x:.1}" y="{y:.1}" text-anchor="{anchor}">{inner}</text>"#);
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

/// A whole number with commas.
pub fn grouped(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_apart_and_in_the_picture() {
        assert_eq!(apart(&[100.0, 101.0, 300.0]), [100.0, 118.0, 300.0]);
        assert_eq!(apart(&[BOTTOM, BOTTOM]), [BOTTOM - NAME_GAP, BOTTOM]);
        assert!(apart(&[]).is_empty());
    }

    #[test]
    fn numbers_are_grouped() {
        let shown = [1.0, 999.0, 1000.0, 19_000.0, 1e6].map(grouped);
        assert_eq!(shown, ["1", "999", "1,000", "19,000", "1,000,000"]);
    }

    #[test]
    fn a_plot_has_each_line_its_name_and_nothing_behind() {
        let line = |name: &str| Line {
            name: name.into(),
            colour: "#123456",
            dashed: name == "b",
            points: vec![(1.0, 3.0), (100.0, 30.0)],
        };
        let plot = Plot {
            title: "a < b".into(),
            x_name: "connections".into(),
            lines: vec![line("a"), line("b")],
            y_mark: grouped,
        };
        let svg = plot.svg();
        assert_eq!(svg.matches("<polyline").count(), 2);
        assert_eq!(svg.matches("<circle").count(), 4);
        assert_eq!(svg.matches("stroke-dasharray").count(), 1);
        assert!(svg.contains("<title>a &lt; b</title>") && !svg.contains("<rect"), "{svg}");
        assert!(svg.contains(r#"<polyline points="78.0,"#), "the first point is at the left: {svg}");
    }
}
