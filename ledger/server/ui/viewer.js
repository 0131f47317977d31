// A placeholder until ui/ is built.
"use strict";
const heading = document.createElement("h1");
heading.textContent = document.title;
document.body.append(heading);
