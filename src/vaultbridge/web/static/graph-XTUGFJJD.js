import{h as t,k as r,r as e}from"./chunk-6D2VLWLS.js";function o(p){return e("Graph"),t(r,{icon:"graph",title:"Graph"})}export{o as default};
