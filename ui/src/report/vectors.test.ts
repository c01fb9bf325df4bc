import { expect, test } from "vitest";
import { FilterError, matches, parse, type Subject } from "./filter";
import vectors from "./filter-vectors.json";

// What the program's own filter says of each case: the page must come to the same.
const subjects = vectors.subjects as Subject[];
const has = (text: string): boolean => vectors.text.includes(text);

for (const vector of vectors.filters) {
  test(`as the program does: ${vector.filter || "(empty)"}`, () => {
    if (vector.matches) {
      const filter = parse(vector.filter);
      expect(subjects.map((subject) => matches(filter, subject, has))).toEqual(vector.matches);
      return;
    }
    let mistake: unknown;
    try {
      parse(vector.filter);
    } catch (error) {
      mistake = error;
    }
    expect(mistake).toBeInstanceOf(FilterError);
    expect((mistake as FilterError).span).toEqual(vector.span);
  });
}
