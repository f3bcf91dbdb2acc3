//! A real browser: Chromium, driven by its own `chromedriver` in the words of WebDriver (W3C).
//!
//! In:  addresses, CSS selectors. Out: what the page shows, pictures of it.
//!
//! A few lines of our own over [`Site`], since what the tests need is little: no package for it is worth its dependencies.
//!
//! Invariants:
//! - The browser has a directory of its own and asks nobody but the pages that it is led to; both end with the value.
//! - What a page is to show is waited for.

use crate::deadline::wait_for;
use crate::http::Site;
use crate::process::Process;
use crate::skip;
use base64::Engine as _;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// What it is called by distributions.
const PROGRAMS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// Set where a browser has to be there: then nothing is skipped.
const NEEDED: &str = "BRICKYARD_BROWSER_NEEDED";

/// No sandbox: tests run as root, where there is none. Nothing of it asks anybody by itself.
const FLAGS: [&str; 12] = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-default-apps",
    "--hide-scrollbars",
    "--force-color-profile=srgb",
];

/// The name under which WebDriver tells elements.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// See the module.
#[derive(Debug)]
pub struct Browser {
    driver: Process,
    site: Site,
    session: String,
    _scratch: TempDir,
}

impl Browser {
    /// Starts one; without Chromium it says that `what` is skipped. It believes whatever certificate it is shown, if so asked.
    ///
    /// # Panics
    /// If it does not start, though it is there.
    #[must_use]
    pub fn start(what: &str, believes_all: bool) -> Option<Self> {
        let Some((program, driver)) = programs() else {
            let is_needed = std::env::var_os(NEEDED).is_some();
            assert!(!is_needed, "{NEEDED} is set, and there is no Chromium");
            let remedy = "no Chromium with its driver; apt-get install chromium chromium-driver";
            skip::announce(what, remedy);
            return None;
        };
        let scratch = tempfile::tempdir().expect("a temporary folder");
        let log = scratch.path().join("driver.log");
        let driver = Process::start(Command::new(driver).arg("--port=0"), &log);
        let port = wait_for("the browser's driver", || {
            let said = driver.output();
            let (_, rest) = said.split_once("started successfully on port ")?;
            rest.split('.').next()?.trim().parse().ok()
        });
        let site = Site::local(port);
        let own = format!(
            "--user-data-dir={}",
            scratch.path().join("profile").display()
        );
        let flags: Vec<&str> = FLAGS.into_iter().chain([own.as_str()]).collect();
        let options = json!({ "binary": program, "args": flags });
        let wanted = json!({ "capabilities": { "alwaysMatch": {
            "acceptInsecureCerts": believes_all,
            "goog:chromeOptions": options,
            "goog:loggingPrefs": { "browser": "ALL" },
        } } });
        let answer = site
            .ask("POST", "/session", &[], &wanted.to_string())
            .json();
        let session = answer["value"]["sessionId"].as_str();
        let session = session
            .unwrap_or_else(|| panic!("no browser: {answer}"))
            .to_owned();
        Some(Self {
            driver,
            site,
            session,
            _scratch: scratch,
        })
    }

    fn try_call(&self, method: &str, path: &str, body: &Value) -> Result<Value, String> {
        let path = format!("/session/{}{path}", self.session);
        let body = match method {
            "GET" => String::new(),
            _ => body.to_string(),
        };
        let answer = self.site.try_ask(method, &path, &[], &body);
        let answer = answer.map_err(|error| error.to_string())?;
        let mut value = answer.json();
        match answer.status {
            200 => Ok(value["value"].take()),
            _ => Err(format!("{path}: {}", value["value"]["message"])),
        }
    }

    fn call(&self, method: &str, path: &str, body: &Value) -> Value {
        self.try_call(method, path, body)
            .unwrap_or_else(|error| panic!("the browser: {error}"))
    }

    /// A command of Chromium's own.
    fn devtools(&self, command: &str, parameters: Value) -> Value {
        let body = json!({ "cmd": command, "params": parameters });
        self.call("POST", "/goog/cdp/execute", &body)
    }

    /// Leads it somewhere.
    pub fn open(&self, address: &str) {
        let _ = self.call("POST", "/url", &json!({ "url": address }));
    }

    /// Where it is.
    #[must_use]
    pub fn address(&self) -> String {
        self.call("GET", "/url", &Value::Null)
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }

    /// What a script on the page returns.
    #[must_use]
    pub fn run(&self, script: &str) -> Value {
        self.call(
            "POST",
            "/execute/sync",
            &json!({ "script": script, "args": [] }),
        )
    }

    /// The text of what a selector finds first, as it is seen; none: there is no such element.
    #[must_use]
    pub fn text(&self, selector: &str) -> Option<String> {
        let element = self.find(selector)?;
        let text = self.try_call("GET", &format!("/element/{element}/text"), &Value::Null);
        text.ok()?.as_str().map(str::to_owned)
    }

    /// Waits until what a selector finds shows a text, and returns all of its text.
    ///
    /// # Panics
    /// If it does not; what the page shows is told.
    pub fn wait_for(&self, selector: &str, text: &str) -> String {
        let seen = crate::deadline::try_wait_for(crate::deadline::PATIENCE, || {
            self.text(selector).filter(|it| it.contains(text))
        });
        seen.unwrap_or_else(|| {
            let page = self.text("body").unwrap_or_default();
            panic!(
                "'{selector}' does not show '{text}' but {:?}, on\n{page}",
                self.text(selector)
            )
        })
    }

    /// Clicks on what a selector finds first, when it is there.
    pub fn click(&self, selector: &str) {
        wait_for(&format!("a click on {selector}"), || {
            let element = self.find(selector)?;
            self.try_call("POST", &format!("/element/{element}/click"), &json!({}))
                .ok()
        });
    }

    /// Types into what a selector finds, in place of what is there.
    pub fn write(&self, selector: &str, text: &str) {
        wait_for(&format!("a place to write, {selector}"), || {
            let element = self.find(selector)?;
            let clear = format!("/element/{element}/clear");
            self.try_call("POST", &clear, &json!({})).ok()?;
            let value = format!("/element/{element}/value");
            self.try_call("POST", &value, &json!({ "text": text })).ok()
        });
    }

    fn find(&self, selector: &str) -> Option<String> {
        let by = json!({ "using": "css selector", "value": selector });
        let element = self.try_call("POST", "/element", &by).ok()?;
        element[ELEMENT].as_str().map(str::to_owned)
    }

    /// A window of that size, light or dark, as people choose.
    pub fn wear(&self, width: u32, height: u32, is_dark: bool) {
        let scheme = if is_dark { "dark" } else { "light" };
        let features = json!({ "features": [
            { "name": "prefers-color-scheme", "value": scheme },
            { "name": "prefers-reduced-motion", "value": "reduce" },
        ] });
        let _ = self.devtools("Emulation.setEmulatedMedia", features);
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600 });
        let _ = self.devtools("Emulation.setDeviceMetricsOverride", size);
    }

    /// A picture of what is seen, as PNG.
    ///
    /// # Panics
    /// If there is none, or it cannot be written.
    pub fn picture(&self, file: &Path) {
        let shot = self.devtools("Page.captureScreenshot", json!({ "format": "png" }));
        let shot = shot["data"].as_str().expect("a picture");
        let png = base64::engine::general_purpose::STANDARD.decode(shot);
        std::fs::write(file, png.expect("base64")).expect("the picture is written");
    }

    /// What the page said to whoever develops it: refused files, errors in scripts.
    #[must_use]
    pub fn complaints(&self) -> Vec<String> {
        let log = self.try_call("POST", "/se/log", &json!({ "type": "browser" }));
        let log = log.unwrap_or_default();
        let lines = log.as_array().map(Vec::as_slice).unwrap_or_default().iter();
        lines
            .filter_map(|it| it["message"].as_str().map(str::to_owned))
            .collect()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        drop(self.try_call("DELETE", "", &json!({})));
        self.driver.kill();
    }
}

/// Chromium and its driver, if both are there.
fn programs() -> Option<(PathBuf, PathBuf)> {
    let path = std::env::var_os("PATH")?;
    let on_path = |name: &str| {
        let mut places = std::env::split_paths(&path).map(|folder| folder.join(name));
        places.find(|it| it.is_file())
    };
    let program = PROGRAMS.into_iter().find_map(on_path)?;
    Some((program, on_path("chromedriver")?))
}
