// node build.mjs OUT: bundles the page into OUT, with names that hold a hash of what is in them, and
// a brotli of each file next to it. Runs in a folder with node_modules (scripts/page.sh).
import { build } from "esbuild";
import fs from "node:fs";
import path from "node:path";
import zlib from "node:zlib";

const out = process.argv[2], fresh = `${out}.new`;
fs.rmSync(fresh, { recursive: true, force: true });
const done = await build({
  entryPoints: ["src/main.jsx", "src/style.css"], outdir: fresh, entryNames: "[name]-[hash]",
  bundle: true, minify: true, format: "esm", target: "es2022", charset: "utf8", metafile: true,
  jsx: "automatic", jsxImportSource: "preact", legalComments: "none",
});
let page = fs.readFileSync("src/index.html", "utf8");
for (const [name, { entryPoint }] of Object.entries(done.metafile.outputs))
  page = page.replace(`@${path.basename(entryPoint).replace("jsx", "js")}@`, path.basename(name));
fs.writeFileSync(path.join(fresh, "index.html"), page);
const licences = ["preact", "uplot"].map((name) =>
  `${name}\n\n${fs.readFileSync(`node_modules/${name}/LICENSE`, "utf8")}`);
fs.writeFileSync(path.join(fresh, "licences.txt"), licences.join("\n"));
let bytes = 0;
for (const name of fs.readdirSync(fresh)) {
  const packed = zlib.brotliCompressSync(fs.readFileSync(path.join(fresh, name)));
  fs.writeFileSync(path.join(fresh, `${name}.br`), packed);
  bytes += packed.length;
}
fs.rmSync(out, { recursive: true, force: true });
fs.renameSync(fresh, out);
console.log(`${Math.ceil(bytes / 1000)} kB compressed`);
