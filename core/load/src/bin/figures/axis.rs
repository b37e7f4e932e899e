//! A logarithmic axis.

/// From here on only powers of ten are marked: more would not fit.
const DECADES_MANY: f64 = 2.5;

/// A range of values and where its marks are.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// Values to mark; the first and last are the ends.
    pub marks: Vec<f64>,
}

impl Axis {
    /// An axis with room for all `values`, which must be above 0.
    pub fn around(values: impl Iterator<Item = f64>) -> Self {
        let (least, most) = values.fold((f64::INFINITY, 0.0_f64), |(a, b), value| (a.min(value), b.max(value)));
        if !(least > 0.0 && least.is_finite()) {
            return Axis { marks: vec![1.0, 10.0] };
        }
        let steps: &[f64] = if (most / least).log10() > DECADES_MANY { &[1.0] } else { &[1.0, 2.0, 5.0] };
        let decades = least.log10().floor() as i32..=most.log10().floor() as i32 + 1;
        let all: Vec<f64> =
            decades.flat_map(|decade| steps.iter().map(move |step| step * 10_f64.powi(decade))).collect();
        let first = all.iter().rposition(|mark| *mark <= least).unwrap_or(0);
        let last = all.iter().position(|mark| *mark >= most).unwrap_or(all.len() - 1).max(first + 1);
        Axis { marks: all[first..=last].to_vec() }
    }

    /// Where `value` is, from 0 to 1.
    pub fn place(&self, value: f64) -> f64 {
        let (first, last) = (self.marks[0].log10(), self.marks[self.marks.len() - 1].log10());
        (value.log10() - first) / (last - first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_axes_mark_decades_and_narrow_ones_more() {
        let wide = Axis::around([1.0, 19_000.0].into_iter());
        assert_eq!(wide.marks, [1.0, 10.0, 100.0, 1000.0, 10_000.0, 100_000.0]);
        assert_eq!((wide.place(1.0), wide.place(100_000.0)), (0.0, 1.0));
        assert!((wide.place(100.0) - 0.4).abs() < 1e-9);
        let narrow = Axis::around([3.0, 41.0].into_iter());
        assert_eq!(narrow.marks, [2.0, 5.0, 10.0, 20.0, 50.0]);
    }

    #[test]
    fn an_axis_has_two_ends_whatever_it_is_for() {
        assert_eq!(Axis::around(std::iter::empty()).marks, [1.0, 10.0]);
        assert_eq!(Axis::around([5.0].into_iter()).marks, [5.0, 10.0]);
        assert_eq!(Axis::around([0.0, 3.0].into_iter()).marks, [1.0, 10.0]);
    }
}
