import{k as t,n as r,v as e}from"./chunk-TK3GFT5V.js";import"./chunk-OOJM4CTU.js";function o(p){return e("Graph"),t(r,{icon:"graph",title:"Graph"})}export{o as default};
