//! A stand-in for GitHub's API of pull requests and comments, for the steps of action.yml.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use serde_json::{Value, json};

pub(crate) const BOT: &str = "github-actions[bot]";

/// Repository `them/lab` with pull request 7, and every request that it got: method, path and query.
#[derive(Default)]
pub(crate) struct Github {
    /// The `id` of each is its place.
    pub(crate) comments: Vec<Value>,
    /// Open ones.
    pub(crate) pulls: Vec<Value>,
    pub(crate) requests: Vec<String>,
    /// Not with the token of a pull request from a fork.
    pub(crate) may_write: bool,
}

impl Github {
    /// Serves on loopback until the process ends; returns its address.
    pub(crate) fn serve(self) -> (Arc<Mutex<Self>>, String) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = format!("http://{}", listener.local_addr().expect("an address"));
        let shared = Arc::new(Mutex::new(self));
        let own = Arc::clone(&shared);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let mut github = own.lock().unwrap_or_else(PoisonError::into_inner);
                github.answer(stream);
            }
        });
        (shared, address)
    }

    fn answer(&mut self, mut stream: TcpStream) {
        let mut reader = BufReader::new(stream.try_clone().expect("a stream"));
        let lines: Vec<String> = (&mut reader)
            .lines()
            .map_while(Result::ok)
            .take_while(|line| !line.is_empty())
            .collect();
        let header = |name: &str| lines.iter().find_map(|line| line.strip_prefix(name));
        let length = header("Content-Length: ").map_or(0, |text| text.parse().expect("a length"));
        let mut body = vec![0; length];
        reader.read_exact(&mut body).expect("a body");
        let body: Value = serde_json::from_slice(&body).unwrap_or_default();
        let request = lines[0].trim_end_matches(" HTTP/1.1").to_owned();
        let (code, answer) = if header("Authorization: ") == Some("Bearer secret") {
            self.result(&request, &body["body"])
        } else {
            (401, json!({"message": "Requires authentication"}))
        };
        self.requests.push(request);
        let text = answer.to_string();
        let head = format!("HTTP/1.1 {code} -\r\nContent-Length: {}", text.len());
        write!(stream, "{head}\r\nConnection: close\r\n\r\n{text}").expect("an answer");
    }

    fn result(&mut self, request: &str, text: &Value) -> (u16, Value) {
        let place = request.replace("/repos/them/lab/", "");
        if !place.starts_with("GET ") && !self.may_write {
            let message = "Resource not accessible by integration";
            return (403, json!({"message": message}));
        }
        if place.starts_with("GET pulls?") {
            return (200, json!(self.pulls));
        }
        if let Some(page) = place.strip_prefix("GET issues/7/comments?per_page=100&page=") {
            let page: usize = page.parse().expect("a page");
            let page = self.comments.chunks(100).nth(page - 1).unwrap_or_default();
            return (200, json!(page));
        }
        if let Some(id) = place.strip_prefix("PATCH issues/comments/") {
            self.comments[id.parse::<usize>().expect("a number")]["body"] = text.clone();
            return (200, json!({}));
        }
        if place == "POST issues/7/comments" {
            self.add(BOT, text.as_str().expect("a text"));
            return (201, json!({}));
        }
        (404, json!({"message": "Not Found"}))
    }

    pub(crate) fn add(&mut self, login: &str, body: &str) {
        let id = self.comments.len();
        self.comments
            .push(json!({"id": id, "user": {"login": login}, "body": body}));
    }

    pub(crate) fn bodies(&self) -> Vec<String> {
        let body = |comment: &Value| comment["body"].as_str().expect("a text").to_owned();
        self.comments.iter().map(body).collect()
    }
}
