# Linted (`just dist`), not built: no machine of this project runs containers (docs/installing.md).
FROM rust:1.95-slim-bookworm AS build
WORKDIR /source
COPY Cargo.toml Cargo.lock ./
COPY benches/*.rs benches/
COPY reports/templates reports/templates
COPY src src
RUN cargo install --locked --path . --root /installed

FROM debian:bookworm-slim
COPY LICENSE-MIT LICENSE-APACHE /usr/share/doc/fieldtrial/
COPY --from=build /installed/bin/fieldtrial /usr/local/bin/
WORKDIR /work
ENTRYPOINT ["fieldtrial"]
