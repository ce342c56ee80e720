// Texts as they are, none of it hidden, and the words in which two of them differ.

const MOST_WORDS = 600; // comparing takes the product of both lengths
// Characters that would show as nothing or turn the text around: shown by their number.
const HIDDEN = /(?![\n\t])[\p{Cc}\p{Cs}\u200b\u202d\u202e\u2060\u2066-\u2069\ufeff]/gu;

function spelled(element, text) {
  let end = 0;
  text = text.replace(/\r\n?/g, "\n");
  for (const match of text.matchAll(HIDDEN)) {
    const code = match[0].codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
    element.append(text.slice(end, match.index), made("span", `U+${code}`, "sign"));
    end = match.index + match[0].length;
  }
  element.append(text.slice(end));
  return element;
}

function shownText(text) {
  const element = made("bdi", "", "text");
  element.dir = "auto";
  return spelled(element, text);
}

function wordsOf(text) {
  if (!("Segmenter" in Intl)) return text.split(/(\s+)/);
  return [...new Intl.Segmenter(undefined, { granularity: "word" }).segment(text)].map((one) => one.segment);
}

// Runs of words that are the same, new or gone: the longest common subsequence.
function differences(before, after) {
  const [a, b] = [wordsOf(before), wordsOf(after)];
  if (a.length > MOST_WORDS || b.length > MOST_WORDS) return [["same", after]];
  const [x, y] = [a, b].map((words) => words.map((word) => word.toLowerCase()));
  const longest = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      longest[i][j] = x[i] === y[j] ? longest[i + 1][j + 1] + 1 : Math.max(longest[i + 1][j], longest[i][j + 1]);
    }
  }
  // What changed between two kept words is one stretch: all that went, then all that came.
  const found = [];
  let [gone, fresh] = ["", ""];
  const flush = () => {
    const [, lead, core, tail] = fresh.match(/^(\s*)(.*?)(\s*)$/s);
    const old = gone.trim();
    found.push(["same", lead]);
    if (old) found.push(["del", old]);
    if (old && (core || lead || /\s$/.test(gone))) found.push(["same", " "]);
    if (core) found.push(["ins", core]);
    found.push(["same", tail]);
    [gone, fresh] = ["", ""];
  };
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && x[i] === y[j]) {
      if (b[j].trim()) {
        flush();
        found.push(["same", b[j]]);
      } else [gone, fresh] = [gone + a[i], fresh + b[j]];
      i++;
      j++;
    } else if (j === b.length || (i < a.length && longest[i + 1][j] >= longest[i][j + 1])) gone += a[i++];
    else fresh += b[j++];
  }
  flush();
  return found;
}

function reworded(before, one) {
  const element = made("bdi", "", "text");
  element.dir = "auto";
  for (const [kind, words] of differences(before, one.text)) {
    if (kind === "same") spelled(element, words);
    else element.append(spelled(made(kind), words));
  }
  if (one.length) element.append(made("span", ` … ${one.length} characters in all`, "soft"));
  return element;
}
