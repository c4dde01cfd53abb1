//! Which home commands are told, for every way to spell one, and what becomes of two.

use reference::environment::HOME;
use reference::fault::environment::Mode;
use reference::settings::Settings;

use super::{Seen, Subject};
use crate::room::{Room, hosted};

pub(crate) fn look(subject: Subject<'_>, seen: &mut Seen) {
    if !subject.revision.has_registry() {
        return;
    }
    let room = Room::new();
    seen.root(&room);
    let settings = |explicit: Option<&str>, ambient: Option<&str>| {
        let mut settings = room.settings(subject.revision, subject.faults);
        settings.home = explicit.map(Into::into);
        if let Some(ambient) = ambient {
            settings.environment.insert(HOME.into(), ambient.into());
        }
        settings
    };
    let absolute = room.path("home").display().to_string();
    let detour = format!("{}/ws/.././home/", room.path("").display());
    for (name, explicit, ambient) in [
        ("explicit", Some(absolute.as_str()), Some("/ambient")),
        ("relative", Some("../home"), None),
        ("unnormalised", Some(&detour), None),
        ("tilde", Some("~/.dsh"), None),
        ("blank", Some(" "), Some(&absolute)),
        ("ambient", None, Some("/ambient")),
        ("unset", None, None),
    ] {
        let told = told(settings(explicit, ambient));
        seen.put(&format!("home/{name}"), &told);
    }
    for (name, skills) in [
        ("conflict", "/elsewhere"),
        ("two-spellings", detour.as_str()),
    ] {
        let mut settings = settings(Some(&absolute), None);
        settings.skills_home = Some(skills.into());
        seen.put(&format!("home/{name}"), &told(settings));
    }
}

fn told(settings: Settings) -> String {
    let overlay = hosted(settings, async |host| host.overlay(None, Mode::Foreground));
    match overlay {
        Ok(overlay) => overlay.unwrap().get(HOME).cloned().unwrap_or_default(),
        Err(error) => error.code().to_owned(),
    }
}
