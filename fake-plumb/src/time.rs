//! Points in time as plumb writes them: RFC 3339 with nanoseconds, and the zero time for "not yet".
//!
//! Called by everything that stamps a record, a note or a namespace.

use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serializer};

/// Go's zero time: a record whose `ended_at` is this is live.
pub(crate) const ZERO: &str = "0001-01-01T00:00:00Z";

/// How much faster than the wall the lifetimes of namespaces and notes pass (`FAKE_PLUMB_CLOCK`).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock(f64);

impl Default for Clock {
    fn default() -> Self {
        Self(1.0)
    }
}

impl Clock {
    /// Reads a factor; only finite numbers above zero are factors.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let factor: f64 = text.parse().ok()?;
        (factor.is_finite() && factor > 0.0).then_some(Self(factor))
    }

    /// The wall time in which `nominal` passes.
    pub(crate) fn scaled(self, nominal: Duration) -> Duration {
        Duration::try_from_secs_f64(nominal.as_secs_f64() / self.0).unwrap_or(Duration::MAX)
    }
}

/// Nanoseconds since the epoch, as the mail table stores them.
pub(crate) fn nanos(at: Timestamp) -> i64 {
    i64::try_from(at.as_nanosecond()).unwrap_or(i64::MAX)
}

/// `at` plus `span`, held at the end of time.
pub(crate) fn after(at: Timestamp, span: Duration) -> Timestamp {
    at.checked_add(span).unwrap_or(Timestamp::MAX)
}

/// How long ago `at` was; zero if it lies ahead.
pub(crate) fn since(at: Timestamp) -> Duration {
    Duration::try_from(Timestamp::now().duration_since(at)).unwrap_or(Duration::ZERO)
}

/// A short age or span, as plumb prints it: `0s`, `5m`, `2 h` is the caller's business.
pub(crate) fn age(span: Duration) -> String {
    match span.as_secs() {
        secs @ ..60 => format!("{secs}s"),
        secs @ 60..3600 => format!("{}m", secs / 60),
        secs => format!("{}h", secs / 3600),
    }
}

/// Reads `30m`, `2h`, `90s` or a sum such as `1h30m`.
pub(crate) fn parse_span(text: &str) -> Option<Duration> {
    let mut total = Duration::ZERO;
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        let count: u64 = rest[..digits].parse().ok()?;
        let unit_end = rest[digits..]
            .find(|c: char| c.is_ascii_digit())
            .map_or(rest.len(), |more| digits + more);
        let unit = match &rest[digits..unit_end] {
            "ms" => Duration::from_millis(1),
            "s" => Duration::from_secs(1),
            "m" => Duration::from_mins(1),
            "h" => Duration::from_hours(1),
            _ => return None,
        };
        total = total.checked_add(unit.checked_mul(u32::try_from(count).ok()?)?)?;
        rest = &rest[unit_end..];
    }
    (total > Duration::ZERO).then_some(total)
}

/// Serde for an end that may not have come yet.
pub(crate) mod end {
    use super::{Deserialize, Deserializer, Serializer, Timestamp, ZERO};

    #[expect(
        clippy::ref_option,
        reason = "serde's `with` passes the field by reference"
    )]
    pub(crate) fn serialize<S: Serializer>(
        at: &Option<Timestamp>,
        out: S,
    ) -> Result<S::Ok, S::Error> {
        match at {
            Some(at) => out.collect_str(at),
            None => out.serialize_str(ZERO),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Timestamp>, D::Error> {
        let text = String::deserialize(from)?;
        if text == ZERO {
            return Ok(None);
        }
        text.parse().map(Some).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_read_as_go_writes_them() {
        assert_eq!(parse_span("30m"), Some(Duration::from_mins(30)));
        assert_eq!(parse_span("1h30m"), Some(Duration::from_mins(90)));
        for wrong in ["", "30", "m", "30x", "-5m", "0s"] {
            assert_eq!(parse_span(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_fast_clock_shortens_a_span() {
        let clock = Clock::parse("60").unwrap();
        assert_eq!(clock.scaled(Duration::from_mins(1)), Duration::from_secs(1));
        assert!(Clock::parse("0").is_none() && Clock::parse("inf").is_none());
    }
}
