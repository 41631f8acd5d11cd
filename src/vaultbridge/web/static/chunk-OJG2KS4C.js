var e=()=>matchMedia("(prefers-reduced-motion: reduce)").matches;export{e as a};
