//! Every difference from the transcript that is tolerated, and why.
//!
//! A difference that is not here fails the suite; so does an entry here that is no difference any more.

/// One tolerated difference.
pub(super) struct Tolerated {
    /// The frame: `<id>` of an answer, or the name of an event.
    pub(super) frame: &'static str,
    /// A JSON pointer inside it; a trailing `*` stands for everything below.
    pub(super) path: &'static str,
    pub(super) reason: &'static str,
}

pub(super) const ALL: &[Tolerated] = &[
    Tolerated {
        frame: "1",
        path: "/result/serverInfo/version",
        reason: "the measured build is unstamped and says dev",
    },
    Tolerated {
        frame: "1",
        path: "/result/instructions",
        reason: "prose for models, elided in the transcript",
    },
    Tolerated {
        frame: "2",
        path: "/absent",
        reason: "tools that a session does not need are not in the fake",
    },
    Tolerated {
        frame: "3",
        path: "/result/content/0/text",
        reason: "the full packet is prose for models; its heading and its mail block are compared by the facts",
    },
    Tolerated {
        frame: "unasked",
        path: "/roots",
        reason: "plumb's roots request is a race; the fake always sends it, the transcript has none",
    },
    Tolerated {
        frame: "record",
        path: "/daemon_version",
        reason: "the measured build is unstamped and says dev",
    },
];
